/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that a request may have under the policy in force, the host's grants and the context's
 * narrowing: its languages, its longest time, and no member that can only be refused. The input
 * schema of tool_status() and the hints that list names offer nothing else. The manifest is static
 * and knows no policy. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/configuration.h"
#include "policy/narrowing.h"
#include "tools/tool_definition.h"
#include "vocabulary/capability.h"

struct offer {
    const struct configuration *configuration;
    const struct narrowing *narrowing; /* NULL: none */
    char *const *host; /* entries of capability.h that the host grants; NULL: it has not said */
    const struct tool_list *tools; /* the context's; NULL: there is no context */
};

/* As policy, context and host say. */
bool offer_grants(const struct offer *offer, enum capability capability, const char *parameter);

/* A new reference, NULL when out of memory. */
json_t *offer_input_schema(const struct offer *offer);

/* The names that requests may have as their language, image or member, separated by commas, as far
 * as they fit; "" where there is none. */
void offer_languages(const struct offer *offer, char *ret, size_t size);
void offer_images(const struct offer *offer, char *ret, size_t size);
void offer_members(const struct offer *offer, char *ret, size_t size);
