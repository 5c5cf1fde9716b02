/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What redaction is held against: a reference that has the whole output at once and encoders of its
 * own, which share nothing with the product's. Single-threaded test process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "redaction/redaction.h"

#define TEXT_LIMIT     8192
#define PATTERNS_LIMIT 1024
#define ENCODING_KINDS 34 /* of encode(); the last 20 are literals */

struct text {
    char bytes[TEXT_LIMIT];
    size_t length;
};

struct pattern {
    char bytes[1024];
    size_t length;
};

/* What of secrets must not be in an output. */
struct patterns {
    struct pattern all[PATTERNS_LIMIT];
    size_t count;
};

/* A redaction_sink: user is a struct text. */
void append(void *user, const void *bytes, size_t length);

void append_string(struct text *text, const char *string);

/* The whole of it as base64(1) writes it, without "=", behind what ret has. */
void to_base64(const char *bytes, size_t length, bool url, struct text *ret);

/* As "printf" and friends of a program would show it; kind is 0..ENCODING_KINDS-1. */
void encode(const char *value, size_t kind, struct text *ret);

void add_secret(struct patterns *patterns, const char *value);

/* Every place that is part of any pattern goes; "[redacted]" where such places begin. */
void reference(const struct patterns *patterns, const struct text *input, struct text *ret);

void expect_no_pattern(const struct patterns *patterns, const struct text *text);

/* The input in pieces of the given size behind a first one that ends at split. Secrets are named
 * "x", and the labels are the reference's. */
void redact(const struct redaction *redaction, const struct text *input, size_t split, size_t piece,
            struct text *ret);

/* Of secrets that are all named "x", the last of them NULL. */
struct redaction *redaction_of(const char *const *secrets);

static inline void free_redaction(struct redaction **redaction)
{
    redaction_free(*redaction);
}
