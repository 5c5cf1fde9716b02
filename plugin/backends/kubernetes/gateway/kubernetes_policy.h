/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's section "kubernetes": which cluster, how pods are to be, which images. A policy that
 * names no kubeconfig leaves it to KUBECONFIG, or to the pod that the gateway runs in. Runs in the
 * gateway on the calling thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "json/json_place.h"

/* As struct sandbox_mode_row has them. */
bool kubernetes_policy_read(const struct json_place *place, json_t *section, struct policy *policy,
                            struct wire_bytes *ret);
bool kubernetes_policy_add_environment(struct wire_bytes *options, struct error *error);
