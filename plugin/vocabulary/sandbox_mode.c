/* SPDX-License-Identifier: Apache-2.0 */
/* The table of modes. Constant data; runs in the gateway on any thread. */
#include "vocabulary/sandbox_mode.h"

#include <stddef.h>
#include <string.h>

static const char *const names[SANDBOX_MODE_COUNT] = {
#define X(constant, name) name,
    SANDBOX_MODES(X)
#undef X
};

const char *sandbox_mode_name(enum sandbox_mode mode)
{
    return names[mode];
}

bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret)
{
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum sandbox_mode)i;
            return true;
        }
    }
    return false;
}
