/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of the audit log:
 *   {"seq":N,"time":"…","prev_sha256":"HEX","record":{…},"sha256":"HEX"}
 * where sha256 is that of the line's own text before ,"sha256" and prev_sha256 that of the line
 * before (64 zeros in the first). Written and checked here, so that both agree. Pure code, any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

#define AUDIT_SHA256_HEX   64u
#define AUDIT_RECORD_LIMIT (1u << 20)
#define AUDIT_LINE_LIMIT   (AUDIT_RECORD_LIMIT + 512u) /* with its line break */

/* The end of the chain that a line is attached to. */
struct audit_link {
    uint64_t seq; /* 0: there is no line yet */
    char sha256[AUDIT_SHA256_HEX + 1];
};

/* The link before the first line. */
struct audit_link audit_link_none(void);

/* The line, with its line break, that holds record_json behind previous. */
bool audit_line_make(const struct audit_link *previous, const char *record_json, char **ret_line,
                     size_t *ret_length, struct failure *failure);

/* Checks a line (without its line break) by itself: form, own hash. What it says about its place
 * goes to *ret_link and *ret_previous. false fills the failure with what is wrong. */
bool audit_line_check(const char *line, size_t length, struct audit_link *ret_link,
                      char ret_previous[AUDIT_SHA256_HEX + 1], struct failure *failure);
