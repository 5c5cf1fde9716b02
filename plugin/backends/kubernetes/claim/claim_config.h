/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a claim, and the check whether its pod is fit for the run. The pod's template is the
 * operator's. All of the pod must be as a pod of our own would be, except a few members that cannot
 * weaken the isolation. Neither code nor a secret is in a claim. Pure code. Runs in the kubernetes
 * backend.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/kubernetes/pod/pod_config.h"

/* After this time the controller deletes a claim whose pod has ended. */
#define CLAIM_FINISHED_S 60

struct claim_terms {
    const char *name;
    const char *pool;  /* the SandboxWarmPool's name */
    const char *owner; /* a label's value, as of pods */
    const char *run_id;
    json_t *marks;    /* annotations: owner_labels(); borrowed */
    int64_t latest_s; /* Unix time at which the controller ends it, also without this gateway */
};

/* The body of POST .../sandboxclaims; new, NULL when out of memory. */
json_t *claim_write(const struct claim_terms *terms);
/* Whether the claim that the API server made is the requested one. A webhook, or an older version
 * of the definitions, may have removed its end. false with the place of the first member that
 * differs. */
bool claim_attest(const json_t *asked, const json_t *made, char *field, size_t size);

/* Compares a pod of a warm pool with a pod of our own for that run (pod_config_for_run(), without a
 * deadline). Returns the configuration that it must keep, new; NULL with the place of the first
 * member that differs, "" when out of memory. These may differ: requests, processor, ephemeral
 * storage, and the size of the run's home if it is large enough. Memory and sizes are compared as
 * numbers. */
json_t *claim_expect_pod(const json_t *asked, const json_t *made, char *field, size_t size);
/* The body of the PATCH that binds the pod to the run: a deadline that the kubelet keeps, and
 * labels for the watch. It changes only the pod with that uid. *ret_config: the configuration of
 * the pod after it. Both new; false when out of memory. */
bool claim_bind_write(const json_t *config, const char *uid, const char *owner, const char *run_id,
                      uint64_t deadline_s, json_t **ret_patch, json_t **ret_config);
