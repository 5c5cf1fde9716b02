/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the records of a run: see records.h. Runs in the broker. */
#include "backends/egress/upstream/records.h"

#include <stdlib.h>

static void record_clear(struct egress_record *record)
{
    free(record->method);
    free(record->path);
    free(record->reason);
    *record = (struct egress_record){0};
}

void records_add(struct records *records, struct egress_record *record)
{
    struct egress_totals *totals = &records->totals;
    totals->requests++;
    totals->denied += record->decision == EGRESS_DENIED || record->decision == EGRESS_BUDGET;
    totals->bytes_in += record->bytes_in;
    totals->bytes_out += record->bytes_out;
    if (records->count < EGRESS_RECORDS_LIMIT) {
        records->first[records->count++] = *record;
        *record = (struct egress_record){0};
    } else {
        totals->omitted++;
        record_clear(record);
    }
}

void records_clear(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        record_clear(&records->first[i]);
    records->count = 0;
}
