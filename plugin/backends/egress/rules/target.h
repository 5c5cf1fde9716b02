/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target of a request line: /NAME/rest?query. The form that is matched with the rules is the
 * form that is sent, so a rule and the upstream cannot read a path differently. A path that two
 * readers may understand differently is refused, not repaired. Pure code, one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/orders/egress_order.h"

#define TARGET_LIMIT 8192 /* bytes of a request's target */

struct target {
    char *name;        /* of the endpoint; "" where there is none */
    char *path;        /* begins with "/", normalised */
    char *query;       /* NULL: there is none */
    const char *fault; /* NULL: it can be sent; else why it cannot, a sentence without a dot */
};

/* Fills in ret; false when out of memory. After a fault, path is the raw one, printable. */
bool target_parse(const char *raw, struct target *ret);
void target_clear(struct target *target);

/* Whether the query has a parameter of that name, in whatever encoding. */
bool target_has_parameter(const char *query, const char *name);

/* Whether a rule of the endpoint has the method and the path. NULL: yes. Otherwise why not: by the
 * method alone, or by the path. */
enum rule_outcome { RULE_ALLOWS, RULE_NOT_METHOD, RULE_NOT_PATH };
enum rule_outcome rules_judge(const struct egress_endpoint *endpoint, const char *method,
                              const char *path);

/* A new copy of a stranger's bytes in printable ASCII, others as %XX, cut at limit bytes. */
char *printable_text(const char *text, size_t limit);
/* A new copy for a query: everything but unreserved characters as %XX. */
char *percent_encode(const unsigned char *bytes, size_t length);
