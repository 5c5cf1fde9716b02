/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's own answers: JSON that a model can act on. Pure code, one thread. */
#pragma once

#include "protocol/orders/egress_event.h"
#include "protocol/orders/egress_order.h"

/* Why a request is not answered by its upstream. */
struct denial {
    unsigned status;
    enum egress_decision decision;
    const char *code; /* static: the answer's "error" */
    char reason[EGRESS_TEXT_LIMIT];
};

__attribute__((format(printf, 5, 6))) void denial_set(struct denial *denial, unsigned status,
                                                      enum egress_decision decision,
                                                      const char *code, const char *format, ...);

/* The text of the answer, new; NULL when out of memory. endpoint NULL: none of the run's. */
char *denial_text(const struct denial *denial, const struct egress_endpoint *endpoint);
