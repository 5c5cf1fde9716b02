/* SPDX-License-Identifier: Apache-2.0 */
/* Puts an endpoint's credential into a request, and tells the redaction how it may come back. One
 * thread. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#include "protocol/orders/egress_order.h"
#include "redaction/redaction.h"

/* A new text of the parts, up to NULL; NULL when out of memory. It makes no copies on its way, as
 * asprintf() does. The caller wipes it. */
char *secret_join(const char *first, ...) __attribute__((sentinel));
/* Adds the header that carries it, where one does; false when out of memory. */
bool credential_headers(const struct egress_endpoint *endpoint, struct curl_slist **list);
/* The whole query with the parameter that carries it, where one does; "" for none. New, the
 * caller's to wipe; NULL when out of memory. */
char *credential_query(const struct egress_endpoint *endpoint, const char *query);
/* Looks for it from now on, raw and as it is rendered in a request. */
bool credential_redact(const struct egress_endpoint *endpoint, struct redaction *redaction);
