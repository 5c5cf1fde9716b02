/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of what endpoints name of HTTP: see endpoint_http.h. Runs in the gateway on the
 * calling thread. */
#include "policy/endpoint_http.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define PATH_BYTES ASCII_ALPHANUMERIC "._~!$&'()*+,=:@[]-"

static bool is_one_of(const char *const *list, const char *text)
{
    for (; *list; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

const char *endpoint_method_check(const char *method)
{
    static const char *const methods[] = {"GET",   "HEAD",   "POST",    "PUT",
                                          "PATCH", "DELETE", "OPTIONS", NULL};
    return is_one_of(methods, method)
               ? NULL
               : "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, in capital letters";
}

/* %XX in capital letters; how many bytes it takes, 0: it is none. */
static size_t escape_length(const char *text)
{
    return text[0] == '%' && text[1] != '\0' && strchr(ASCII_DIGITS "ABCDEF", text[1]) &&
                   text[2] != '\0' && strchr(ASCII_DIGITS "ABCDEF", text[2])
               ? 3
               : 0;
}

static size_t segment_length(const char *text)
{
    size_t length = 0;
    for (;;) {
        size_t plain = strspn(text + length, PATH_BYTES);
        size_t escape = escape_length(text + length + plain);
        length += plain + escape;
        if (escape == 0)
            return length;
    }
}

const char *endpoint_path_check(const char *pattern)
{
    if (pattern[0] != '/')
        return "must begin with \"/\"";
    if (strlen(pattern) > ENDPOINT_PATH_LIMIT)
        return "is longer than 1024 bytes";
    while (*pattern == '/' && pattern[1] != '\0') {
        size_t length = segment_length(++pattern);
        if (length > 0 && length <= 2 && strspn(pattern, ".") == length)
            return "has a \".\" or \"..\" part, which no request is sent with";
        if (length == 0 && *pattern == '/')
            return "has an empty part, which no request is sent with";
        pattern += length;
        if (*pattern != '/' && *pattern != '\0')
            break;
    }
    pattern += *pattern == '/';
    if (*pattern == '?')
        return "has a \"?\": patterns are of paths, and every query is allowed";
    return *pattern == '\0' ? NULL
                            : "has a byte that no path is sent with: write it as %XX, in capital "
                              "letters";
}

/* Credentials and sessions; the frame of a message; who it is for and who it came by; and what the
 * broker asks for or writes itself. */
static const char *const kept[] = {
    "authorization",
    "cookie",
    "cookie2",
    "set-cookie",
    "set-cookie2",
    "host",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "transfer-encoding",
    "content-length",
    "content-encoding",
    "accept-encoding",
    "expect",
    "range",
    "location",
    "forwarded",
    "via",
    "http2-settings",
    NULL,
};

const char *endpoint_header_check(const char *name)
{
    static const char *const families[] = {"proxy-", "x-forwarded-"};
    size_t length = strspn(name, ASCII_LOWER ASCII_DIGITS "-");
    if (length == 0 || name[length] != '\0' || name[0] == '-' || length > ENDPOINT_HEADER_LIMIT)
        return "must be the name of a header: a-z, 0-9 and \"-\", at most 64 bytes";
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return "is a header that no endpoint may have";
    return is_one_of(kept, name) ? "is a header that no endpoint may have" : NULL;
}

const char *endpoint_auth_header_check(const char *name)
{
    return strcmp(name, "authorization") == 0 ? NULL : endpoint_header_check(name);
}

const char *endpoint_header_value_check(const char *value)
{
    size_t length = strlen(value);
    for (const char *byte = value; *byte != '\0'; byte++)
        if (*byte < ' ' || *byte > '~')
            return "must be printable ASCII";
    return length > 0 && (value[0] == ' ' || value[length - 1] == ' ')
               ? "must not begin or end with a blank"
               : NULL;
}

const char *endpoint_parameter_check(const char *name)
{
    size_t length = strspn(name, ASCII_ALPHANUMERIC "._~-");
    return length > 0 && length <= ENDPOINT_HEADER_LIMIT && name[length] == '\0'
               ? NULL
               : "must be the name of a parameter: letters, digits and any of ._~-, at most 64 "
                 "bytes";
}
