/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rendered forms of credentials: see credential.h. Runs in the broker. */
#include "backends/egress/upstream/credential.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "backends/egress/rules/target.h"
#include "backends/egress/upstream/transfer.h"
#include "base/base64.h"
#include "base/cleanup.h"

static void wipe_text(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
}

#define CLEANUP_SECRET_TEXT CLEANUP(wipe_text)

char *secret_join(const char *first, ...)
{
    va_list parts;
    size_t length = 1;
    va_start(parts, first);
    for (const char *part = first; part; part = va_arg(parts, const char *))
        length += strlen(part);
    va_end(parts);
    char *whole = malloc(length);
    if (!whole)
        return NULL;
    char *next = whole;
    va_start(parts, first);
    for (const char *part = first; part; part = va_arg(parts, const char *))
        next = stpcpy(next, part);
    va_end(parts);
    return whole;
}

/* With a NUL behind it; it has none inside. */
static char *credential_text(const struct egress_endpoint *endpoint)
{
    return strndup((const char *)endpoint->credential.bytes, endpoint->credential.length);
}

/* "user:password" of basic. */
static char *pair(const struct egress_endpoint *endpoint)
{
    CLEANUP_SECRET_TEXT char *text = credential_text(endpoint);
    return text ? secret_join(endpoint->auth_name, ":", text, NULL) : NULL;
}

static char *header_value(const struct egress_endpoint *endpoint)
{
    CLEANUP_SECRET_TEXT char *text = credential_text(endpoint);
    if (!text)
        return NULL;
    if (endpoint->auth == EGRESS_AUTH_HEADER)
        return secret_join(endpoint->auth_prefix, text, NULL);
    if (endpoint->auth == EGRESS_AUTH_BEARER)
        return secret_join("Bearer ", text, NULL);
    CLEANUP_SECRET_TEXT char *plain = pair(endpoint);
    CLEANUP_SECRET_TEXT char *encoded =
        plain ? base64_encode((const unsigned char *)plain, strlen(plain)) : NULL;
    return encoded ? secret_join("Basic ", encoded, NULL) : NULL;
}

bool credential_headers(const struct egress_endpoint *endpoint, struct curl_slist **list)
{
    if (endpoint->auth == EGRESS_AUTH_NONE || endpoint->auth == EGRESS_AUTH_QUERY)
        return true;
    CLEANUP_SECRET_TEXT char *value = header_value(endpoint);
    const char *name = endpoint->auth == EGRESS_AUTH_HEADER ? endpoint->auth_name : "Authorization";
    return value && header_list_add(list, name, value);
}

char *credential_query(const struct egress_endpoint *endpoint, const char *query)
{
    if (endpoint->auth != EGRESS_AUTH_QUERY)
        return strdup(query ? query : "");
    const struct wire_bytes *credential = &endpoint->credential;
    CLEANUP_SECRET_TEXT char *value = percent_encode(credential->bytes, credential->length);
    CLEANUP_FREE char *name =
        percent_encode((const unsigned char *)endpoint->auth_name, strlen(endpoint->auth_name));
    if (!value || !name)
        return NULL;
    return secret_join(query ? query : "", query && *query ? "&" : "", name, "=", value, NULL);
}

bool credential_redact(const struct egress_endpoint *endpoint, struct redaction *redaction)
{
    struct error error;
    const struct wire_bytes *credential = &endpoint->credential;
    if (endpoint->auth == EGRESS_AUTH_NONE)
        return true;
    if (!redaction_add(redaction, endpoint->name, credential->bytes, credential->length, &error))
        return false;
    if (endpoint->auth != EGRESS_AUTH_BASIC)
        return true;
    CLEANUP_SECRET_TEXT char *plain = pair(endpoint);
    return plain && redaction_add(redaction, endpoint->name, plain, strlen(plain), &error);
}
