/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: for people a block for each run, joined from its start and its end, and for each
 * refusal, with whatever came from outside escaped; as JSON the same lines of the log. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "audit/audit_line.h"
#include "base/failure.h"

#define AUDIT_TIME_SIZE 32u

/* Selects lines of an audit log; NULL or "": all. */
struct audit_filter {
    const char *run;
    const char *principal;
    const char *status;
    char since[AUDIT_TIME_SIZE], until[AUDIT_TIME_SIZE]; /* beginnings of RFC 3339 in UTC; or "" */
};

struct audit_show {
    FILE *out; /* owned */
    struct audit_filter filter;
    bool json;       /* for programs: the chosen lines of the log as they are */
    json_t *started; /* runs whose end has not come yet: run_id -> the entry's JSON; owned */
    size_t count;    /* of what was printed */
};

/* Prints to a descriptor, which is borrowed; after true audit_show_end() is owed. */
bool audit_show_begin(int out, const struct audit_filter *filter, bool json, struct audit_show *ret,
                      struct failure *failure);
/* Takes the next record, and prints what is complete with it. */
void audit_show_entry(struct audit_show *show, const struct audit_entry *entry);
/* Prints the runs that have no end (under way, or their gateway died), and frees all. How many
 * blocks and lines were printed in all. */
size_t audit_show_end(struct audit_show *show);
