/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of capabilities, for any provider: what NAME, NAME=VALUE, !NAME and !NAME=VALUE
 * of --cap say to a question of the provider, and what its manifest names (docs/abi.md). Pure code,
 * any thread.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

enum capability_verdict {
    CAPABILITY_GRANTED,
    CAPABILITY_DENIED,      /* by "!": no further grant would help */
    CAPABILITY_NOT_GRANTED, /* no grant names it */
    CAPABILITY_PROBE        /* NAME=! */
};

/* asked: NAME, or NAME=VALUE. A denial wins. One of a single value also denies NAME as a whole: the
 * provider then asks for each value. NAME=! is never granted. */
enum capability_verdict capability_judge(const char *const *grants, size_t count,
                                         const char *asked);

/* "required", "optional" and "default_grant" of each tool's "capabilities". */
struct capability_manifest {
    json_t *names;          /* texts, each once: all that a tool can need */
    json_t *default_grants; /* those that a host grants without being told to */
};

/* Both are empty for a manifest that cannot be read or names none. NULL members: out of memory.
 * Release with capability_manifest_clear(). */
struct capability_manifest capability_manifest_read(const char *manifest_json);
void capability_manifest_clear(struct capability_manifest *manifest);
