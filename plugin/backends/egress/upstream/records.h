/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has requested: its first requests one by one, and sums of all. One thread. */
#pragma once

#include <stddef.h>

#include "protocol/orders/egress_event.h"

struct records {
    struct egress_record first[EGRESS_RECORDS_LIMIT];
    size_t count;
    struct egress_totals totals;
};

/* Takes over the record's strings. */
void records_add(struct records *records, struct egress_record *record);
void records_clear(struct records *records);
