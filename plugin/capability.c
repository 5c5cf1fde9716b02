/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of capabilities. Constant data; runs in the gateway on any thread.
 */
#include "capability.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    const char *meaning;
} capabilities[CAPABILITY_COUNT] = {
#define X(constant, name_, meaning_) {name_, meaning_},
    CAPABILITIES(X)
#undef X
};

const char *capability_name(enum capability capability)
{
    return capabilities[capability].name;
}

const char *capability_meaning(enum capability capability)
{
    return capabilities[capability].meaning;
}

bool capability_known(const char *name)
{
    for (size_t i = 0; i < CAPABILITY_COUNT; i++) {
        if (strcmp(capabilities[i].name, name) == 0)
            return true;
    }
    return false;
}
