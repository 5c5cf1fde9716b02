/* SPDX-License-Identifier: Apache-2.0 */
/* The modes in which a program can run, and their names. Constant data, any thread. */
#pragma once

#include <stdbool.h>

/* X(constant, name) */
#define SANDBOX_MODES(X)  \
    X(DOCKER, "docker")   \
    X(PROCESS, "process") \
    X(NONE, "none")

enum sandbox_mode {
#define X(constant, name) SANDBOX_MODE_##constant,
    SANDBOX_MODES(X)
#undef X
        SANDBOX_MODE_COUNT
};

const char *sandbox_mode_name(enum sandbox_mode mode);
/* false where the name is no mode; exact spelling. */
bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret);
