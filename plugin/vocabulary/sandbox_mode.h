/* SPDX-License-Identifier: Apache-2.0 */
/* The modes in which a program can run, and their names. Constant data, any thread. */
#pragma once

#include <stdbool.h>

enum sandbox_mode {
    SANDBOX_MODE_DOCKER,
    SANDBOX_MODE_PROCESS,
    SANDBOX_MODE_NONE,
    SANDBOX_MODE_COUNT
};

const char *sandbox_mode_name(enum sandbox_mode mode);
/* false where the name is no mode; exact spelling. */
bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret);
