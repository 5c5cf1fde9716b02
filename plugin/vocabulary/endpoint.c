/* SPDX-License-Identifier: Apache-2.0 */
/* Names of endpoints, and the table of presets. Pure code, any thread. */
#include "vocabulary/endpoint.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

/* The clients refuse to work without a key. It is none: the broker puts the credential in. */
#define NO_KEY "held-by-the-gateway"

static const char *const none[] = {NULL};
static const char *const openai[] = {"OPENAI_API_KEY=" NO_KEY, NULL};
static const char *const anthropic[] = {"ANTHROPIC_API_KEY=" NO_KEY, NULL};
static const char *const pip[] = {"PIP_DISABLE_PIP_VERSION_CHECK=1", NULL};

static const struct endpoint_preset presets[] = {
    {"openai", "OPENAI_BASE_URL", "", openai, false},
    {"anthropic", "ANTHROPIC_BASE_URL", "", anthropic, false},
    {"pip", "PIP_INDEX_URL", "/simple", pip, false},
    {"npm", "npm_config_registry", "/", none, false},
    {"git", NULL, "", none, true},
};

const struct endpoint_preset *endpoint_presets_all(size_t *ret_count)
{
    *ret_count = COUNT_OF(presets);
    return presets;
}

bool endpoint_name_valid(const char *name)
{
    return ascii_consists_of(name, ENDPOINT_NAME_LIMIT, ASCII_LOWER ASCII_DIGITS "-") &&
           strchr(ASCII_LOWER, name[0]);
}
