/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input schema as far as the policy in force lets a request go: its languages, its longest
 * time, and no member that can only be refused. What the manifest has stays as it is: it is static
 * and knows no policy. Pure code, any thread.
 */
#pragma once

#include <jansson.h>

#include "configuration.h"

/* A new reference, NULL when out of memory. */
json_t *offer_input_schema(const struct configuration *configuration);
