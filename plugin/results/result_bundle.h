/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One result of a program, which is a value in one or more forms, as it is checked and written: the
 * closed set of forms, their limits, and the row of the result that they become. The value is a
 * stranger's: it decides nothing, and images are not decoded. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"
#include "redaction/redaction.h"
#include "json/json_text.h"

/* X(constant, name) - why something is not among the results. */
#define RESULT_OMISSIONS(X)       \
    X(MAX_ITEMS, "max_items")     \
    X(TEXT_BYTES, "text_bytes")   \
    X(IMAGE_BYTES, "image_bytes") \
    X(TOTAL_BYTES, "total_bytes") \
    X(INVALID, "invalid")         \
    X(MIME_TYPE, "mime_type")     \
    X(WITHHELD, "withheld")       \
    X(INCOMPLETE, "incomplete")   \
    X(MEMORY, "memory")           \
    X(PROGRAM, "program")

enum result_omission {
#define X(constant, name) RESULT_OMITTED_##constant,
    RESULT_OMISSIONS(X)
#undef X
        RESULT_OMISSION_COUNT
};

/* What was left out, and why the first of it was. */
struct results_omitted {
    uint64_t count; /* results, or single forms of one */
    uint64_t bytes;
    enum result_omission reason; /* where count > 0 */
    unsigned reasons;            /* all of them, a bit each */
};

const char *result_omission_name(enum result_omission omission);
/* Adds to what was left out. */
void results_omit(struct results_omitted *omitted, enum result_omission reason, uint64_t count,
                  uint64_t bytes);

struct bundle_rules {
    const struct policy_results *limits;
    bool has_secrets; /* images cannot be looked through for them */
    const char *run_id;
    size_t index; /* of the row */
};

/* Taking secrets out of a JSON value: out of every text in it, names of members too. */
struct json_redaction {
    const struct redaction *redaction; /* not empty */
    size_t room;  /* bytes that the changed texts may have; then the value is given up */
    size_t found; /* places in which a secret was found */
    bool lacks_room;
};

/* The value (a reference of the caller's, consumed), changed in place where it is an array or an
 * object, or one in its stead; not nested more deeply than json_input_parse() allows. Texts that
 * are replaced are wiped. NULL: no memory, or no room. */
json_t *json_redact(struct json_redaction *redaction, json_t *value);

/* Writes the row of a program's result whose secrets are redacted. false: it has no form that may
 * be shown, or is none of the program's results; *omitted says so, as it does of single forms, and
 * the draft may hold a part of a row. */
bool result_bundle_write(const json_t *result, const struct bundle_rules *rules,
                         struct results_omitted *omitted, struct json_draft *draft);

/* The same of a program's exception. */
bool result_exception_write(const json_t *exception, const struct policy_results *limits,
                            struct json_draft *draft);
