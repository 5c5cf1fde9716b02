/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rendered forms of credentials: see credential.h. Runs in the broker. */
#include "backends/egress/upstream/credential.h"

#include <stdio.h>
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

static char *joined(const char *first, const struct egress_endpoint *endpoint)
{
    char *text = NULL;
    const struct wire_bytes *credential = &endpoint->credential;
    return asprintf(&text, "%s%.*s", first, (int)credential->length, credential->bytes) < 0 ? NULL
                                                                                            : text;
}

/* "user:password" of basic. */
static char *pair(const struct egress_endpoint *endpoint)
{
    CLEANUP_FREE char *user = NULL;
    if (asprintf(&user, "%s:", endpoint->auth_name) < 0) {
        user = NULL;
        return NULL;
    }
    return joined(user, endpoint);
}

static char *header_value(const struct egress_endpoint *endpoint)
{
    if (endpoint->auth == EGRESS_AUTH_HEADER)
        return joined(endpoint->auth_prefix, endpoint);
    if (endpoint->auth == EGRESS_AUTH_BEARER)
        return joined("Bearer ", endpoint);
    CLEANUP_SECRET_TEXT char *plain = pair(endpoint);
    CLEANUP_SECRET_TEXT char *encoded =
        plain ? base64_encode((const unsigned char *)plain, strlen(plain)) : NULL;
    char *value = NULL;
    return !encoded || asprintf(&value, "Basic %s", encoded) < 0 ? NULL : value;
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
    char *whole = NULL;
    if (!value || !name ||
        asprintf(&whole, "%s%s%s=%s", query ? query : "", query && *query ? "&" : "", name, value) <
            0)
        return NULL;
    return whole;
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
