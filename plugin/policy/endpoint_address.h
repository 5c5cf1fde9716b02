/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of endpoints: base URLs, and the HOST:PORT of tunnels. Each has one spelling, so
 * that what an operator reads is what the broker connects to, and what an approver is shown. Pure
 * code, any thread.
 */
#pragma once

#include <stdbool.h>

#define ENDPOINT_URL_LIMIT 1024 /* bytes */

struct endpoint_address {
    char
        url[ENDPOINT_URL_LIMIT + 16]; /* without the scheme's own port and without "/" at the end */
    bool is_plain;                    /* http: nothing is encrypted */
    bool is_local_only;               /* an address, or a name without a dot */
};

/*
 * https://HOST[:PORT][/PATH], or the same with http. HOST is a name in lower case, an IPv4 address
 * of four decimal numbers, or a canonical IPv6 address in brackets. No user, query, fragment,
 * escape or dot segment. NULL and *ret filled, or words for the refusal.
 */
const char *endpoint_url_read(const char *text, struct endpoint_address *ret);

/* HOST:PORT of a name, for TLS that names its host. NULL and *ret filled, whose url is
 * https://HOST[:PORT]; or words for the refusal. */
const char *endpoint_tunnel_read(const char *text, struct endpoint_address *ret);
