/* SPDX-License-Identifier: Apache-2.0 */
/* The table of modes. Constant data; runs in the gateway on any thread. */
#include "vocabulary/sandbox_mode.h"

#include <string.h>

static const struct sandbox_mode_row *const rows[SANDBOX_MODE_COUNT] = {
#define X(constant, row) &(row),
    SANDBOX_MODES(X)
#undef X
};

const struct sandbox_mode_row *sandbox_mode_row(enum sandbox_mode mode)
{
    return rows[mode];
}

const char *sandbox_mode_name(enum sandbox_mode mode)
{
    return rows[mode]->name;
}

bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret)
{
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++) {
        if (strcmp(rows[i]->name, name) == 0) {
            *ret = (enum sandbox_mode)i;
            return true;
        }
    }
    return false;
}
