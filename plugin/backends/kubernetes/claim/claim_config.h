/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked for with a claim, and whether the pod that it gets is fit for the run. The pod's
 * template is the operator's: all of it must be as a pod of our own would be, but for a few members
 * that cannot weaken the isolation and are taken as they are. Neither code nor a secret is in a
 * claim. Pure code. Runs in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/kubernetes/pod/pod_config.h"

/* How long a claim whose pod has ended stays, should nobody delete it. */
#define CLAIM_FINISHED_S 60

struct claim_terms {
    const char *name;
    const char *pool;  /* the SandboxWarmPool's name */
    const char *owner; /* a label's value, as of pods */
    const char *run_id;
    json_t *marks;    /* annotations: owner_labels(); borrowed */
    int64_t latest_s; /* Unix time at which the controller ends it, whatever has become of us */
};

/* The body of POST .../sandboxclaims; new, NULL when out of memory. */
json_t *claim_write(const struct claim_terms *terms);
/* Is the claim that the API server made the one that was asked for? A webhook or an older version
 * of the definitions may have taken its end from it. false with the place of the first member that
 * differs. */
bool claim_attest(const json_t *asked, const json_t *made, char *field, size_t size);

/* A pod of a warm pool: is it as a pod of our own for that run would be (pod_config_for_run(),
 * without a deadline)? How it must stay from now on, new; NULL with the place of the first member
 * that differs, "" when out of memory. Taken as they are: requests, processor, ephemeral storage,
 * the size of the run's home where that is large enough. Memory and sizes may be written otherwise.
 */
json_t *claim_expect_pod(const json_t *asked, const json_t *made, char *field, size_t size);
/* The body of the PATCH by which the pod becomes the run's: an end by the kubelet, and labels by
 * which it is watched. It has an effect only on the pod with that uid. *ret_config: how the pod is
 * to be then. Both new; false when out of memory. */
bool claim_bind_write(const json_t *config, const char *uid, const char *owner, const char *run_id,
                      uint64_t deadline_s, json_t **ret_patch, json_t **ret_config);
