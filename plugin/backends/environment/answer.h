/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program says at its end: one line of JSON on standard output. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "environments/tree_walk.h"

/* How a command ended. */
struct outcome {
    bool is_good;
    /* where it is good */
    char sha256[SHA256_TEXT_LENGTH + 1];
    char stamp[SHA256_TEXT_LENGTH + 1];
    char recorded_stamp[SHA256_TEXT_LENGTH + 1]; /* of verify */
    uint64_t bytes;
    uint64_t files;
    /* where it is not */
    struct error error;
    char place[TREE_PATH_LIMIT + 1]; /* below the installed directory, or in the archive; any bytes.
                                        "": of the whole */
};

/* The exit status: 1 where it is not good, or nobody takes the line. */
int answer_install(const struct outcome *outcome);
int answer_verify(const struct outcome *outcome);
