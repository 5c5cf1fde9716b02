/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the lists of headers: see headers.h. Runs in the broker. */
#include "backends/egress/rules/headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static const char *const request_headers[] = {"accept",     "accept-language", "content-type",
                                              "user-agent", "if-none-match",   "if-modified-since"};
static const char *const response_headers[] = {"content-type",  "etag",         "last-modified",
                                               "cache-control", "retry-after",  "link",
                                               "location",      "content-range"};
/* Not even where the policy lists them: they say who asks, how the connection is used, or how long
 * a body is. */
static const char *const never[] = {
    "authorization", "cookie",         "set-cookie", "host",
    "connection",    "content-length", "te",         "trailer",
    "upgrade",       "keep-alive",     "expect",     "transfer-encoding",
    "set-cookie2",   "forwarded",      "via",        "accept-encoding"};
static const char *const never_beginnings[] = {"proxy-", "x-forwarded-"};

static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_listed(char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcasecmp(*names, name) == 0)
            return true;
    return false;
}

static bool never_passes(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(never_beginnings); i++)
        if (strncasecmp(name, never_beginnings[i], strlen(never_beginnings[i])) == 0)
            return true;
    return is_in(never, COUNT_OF(never), name);
}

/* What the operator sends by itself counts, not what the program says. */
static bool is_operators(const struct egress_endpoint *endpoint, const char *name)
{
    size_t length = strlen(name);
    if (endpoint->auth == EGRESS_AUTH_HEADER && strcasecmp(endpoint->auth_name, name) == 0)
        return true;
    for (char *const *line = endpoint->headers; line && *line; line++)
        if (strncasecmp(*line, name, length) == 0 && (*line)[length] == ':')
            return true;
    return false;
}

bool request_header_passes(const struct egress_endpoint *endpoint, const char *name)
{
    if (never_passes(name) || is_operators(endpoint, name))
        return false;
    /* Parts of an answer would hide a credential from the redaction. */
    if (strcasecmp(name, "range") == 0 || strcasecmp(name, "if-range") == 0)
        return endpoint->auth == EGRESS_AUTH_NONE;
    return is_in(request_headers, COUNT_OF(request_headers), name) ||
           is_listed(endpoint->request_headers, name);
}

bool response_header_passes(const struct egress_endpoint *endpoint, const char *name)
{
    if (never_passes(name))
        return false;
    return is_in(response_headers, COUNT_OF(response_headers), name) ||
           strncasecmp(name, "x-ratelimit-", 12) == 0 ||
           is_listed(endpoint->response_headers, name);
}

bool header_value_is_good(const char *value)
{
    size_t length = 0;
    for (; value[length]; length++)
        if (length > HEADER_VALUE_LIMIT ||
            ((unsigned char)value[length] < 0x20 && value[length] != '\t') || value[length] == 0x7f)
            return false;
    return true;
}

/* The part of the URL behind the endpoint's base; NULL: it is not below it. */
static const char *behind_base(const struct egress_endpoint *endpoint, const char *url)
{
    size_t length = strlen(endpoint->base_url);
    while (length > 0 && endpoint->base_url[length - 1] == '/')
        length--;
    if (strncmp(url, endpoint->base_url, length) != 0)
        return NULL;
    return url[length] == '\0' || strchr("/?#>", url[length]) ? url + length : NULL;
}

/* The path of the base URL, with what is before it; without a slash at its end. */
static const char *base_path(const struct egress_endpoint *endpoint, size_t *ret_length)
{
    const char *host = strstr(endpoint->base_url, "://") + 3;
    const char *path = host + strcspn(host, "/");
    *ret_length = strlen(path);
    while (*ret_length > 0 && path[*ret_length - 1] == '/')
        --*ret_length;
    return path;
}

char *local_location(const struct egress_endpoint *endpoint, const char *value)
{
    char *local = NULL;
    const char *rest = behind_base(endpoint, value);
    if (!rest && value[0] == '/' && value[1] != '/') {
        size_t length;
        const char *path = base_path(endpoint, &length);
        bool below = strncmp(value, path, length) == 0 &&
                     (value[length] == '\0' || strchr("/?#", value[length]));
        rest = below ? value + length : NULL;
    }
    if (!rest || asprintf(&local, "/%s%s", endpoint->name, rest) < 0)
        return NULL;
    return local;
}

/* Each "<URL>" of the endpoint's becomes a path; others stay, they cannot be reached. */
char *local_links(const struct egress_endpoint *endpoint, const char *value)
{
    size_t capacity = strlen(value) + 1;
    for (const char *open = value; (open = strchr(open, '<')) != NULL; open++)
        capacity += EGRESS_NAME_LIMIT + 1;
    char *local = malloc(capacity);
    char *next = local;
    while (local && *value) {
        *next++ = *value++;
        const char *rest = next[-1] == '<' ? behind_base(endpoint, value) : NULL;
        if (rest) {
            *next++ = '/';
            next = stpcpy(next, endpoint->name);
            value = rest;
        }
    }
    if (local)
        *next = '\0';
    return local;
}
