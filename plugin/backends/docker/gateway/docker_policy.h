/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's section "docker": which engine, which runtime, which images. A policy that names no
 * engine leaves it to the variables that every docker client knows (DOCKER_HOST ...). Runs in the
 * gateway on the calling thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "json/json_place.h"

/* As struct sandbox_mode_row has them. */
bool docker_policy_read(const struct json_place *place, json_t *section, struct policy *policy,
                        struct wire_bytes *ret);
bool docker_policy_add_environment(struct wire_bytes *options, struct error *error);
