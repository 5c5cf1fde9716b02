/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which headers pass, in both directions, and the form in which references of an answer lead back
 * to the endpoint. Pure code, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/orders/egress_order.h"

#define HEADER_VALUE_LIMIT 8192 /* bytes */

/* A header of the program's request. */
bool request_header_passes(const struct egress_endpoint *endpoint, const char *name);
/* A header of the upstream's answer. */
bool response_header_passes(const struct egress_endpoint *endpoint, const char *name);
/* Without control characters but tabs, and not too long. */
bool header_value_is_good(const char *value);

/* A new value for the program of a header that holds references: "location", "link". What leads
 * into the endpoint becomes a path of the broker's own. NULL: it leads elsewhere, or no memory. */
char *local_location(const struct egress_endpoint *endpoint, const char *value);
char *local_links(const struct egress_endpoint *endpoint, const char *value);
