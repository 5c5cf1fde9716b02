/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of capabilities, for any provider: what NAME, NAME=VALUE, !NAME and !NAME=VALUE
 * of --cap say to a question of the provider (docs/abi.md). Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* asked: NAME, or NAME=VALUE. A denial wins. One of a single value also denies NAME as a whole: the
 * provider then asks for each value. NAME=! is never granted. */
enum capability_verdict {
    CAPABILITY_GRANTED,
    CAPABILITY_DENIED,      /* by "!": no further grant would help */
    CAPABILITY_NOT_GRANTED, /* no grant names it */
    CAPABILITY_PROBE        /* NAME=! */
};

enum capability_verdict capability_judge(const char *const *grants, size_t count,
                                         const char *asked);
