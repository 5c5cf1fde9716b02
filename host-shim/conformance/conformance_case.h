/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One conformance case: a claim about a provider, held against a real one in a process of its own,
 * so that a crash, a hang or a leak is a finding and not the end. Main thread of that process.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "host/provider.h"

struct probe_host;

enum case_result {
    CASE_PASSED = 0,
    CASE_FAILED = 1,
    CASE_SKIPPED = 77, /* as test programs say it */
};

struct conformance {
    const char *path;
    struct provider provider; /* loaded, unless the row says CASE_LOADS_ITSELF */
    json_t *tool;             /* of the manifest: the one that is called */
    const char *tool_name;
    unsigned argument;        /* the row's */
    struct probe_host *probe; /* the case's own, which grants everything */
    char remark[1024];        /* why it failed or was skipped, or what is worth knowing */
};

#define CASE_LOADS_ITSELF 1u
#define CASE_WITHOUT_TOOL 2u /* the manifest is not read: it may be what is wrong */
#define CASE_NEEDS_A_RUN  4u /* skipped where the provider cannot run anything on this machine */
/* skipped where the provider does not ask for it */
#define CASE_NEEDS_GRANT(grant) (8u << (grant))

struct conformance_row {
    const char *name; /* NULL behind the last row of a table */
    enum case_result (*function)(struct conformance *conformance);
    unsigned flags;
    unsigned argument;
};

/* Loading and describing itself. */
extern const struct conformance_row conformance_load_rows[];
/* Calls with wrong input and unknown names. */
extern const struct conformance_row conformance_call_rows[];
/* What the host grants. */
extern const struct conformance_row conformance_callback_rows[];
/* How approval is answered: at once, later, for another time, or by a cancellation. */
extern const struct conformance_row conformance_answer_rows[];
/* Secrets. */
extern const struct conformance_row conformance_secret_rows[];
/* The host's files, and files that it keeps. */
extern const struct conformance_row conformance_file_rows[];
/* The host's tools, which programs call. */
extern const struct conformance_row conformance_tool_rows[];
/* Cancelling, ending, reloading, and being a good guest. */
extern const struct conformance_row conformance_lifecycle_rows[];

/* The row of that number over all tables, NULL behind the last. */
const struct conformance_row *conformance_row_at(size_t index);
const struct conformance_row *conformance_row_find(const char *name);
/* Runs it in this process, for the provider at conformance->path. */
enum case_result conformance_row_run(struct conformance *conformance,
                                     const struct conformance_row *row);

/* Loads the provider and chooses the tool to call; false fills the remark. */
bool conformance_load(struct conformance *conformance);
void conformance_unload(struct conformance *conformance);

/* Each fills the remark and returns the result. */
enum case_result case_fail(struct conformance *conformance, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum case_result case_skip(struct conformance *conformance, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Passed, with something worth knowing. */
enum case_result case_pass_with(struct conformance *conformance, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
