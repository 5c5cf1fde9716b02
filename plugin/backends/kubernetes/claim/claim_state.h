/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an API server says of a claim of agent-sandbox (SandboxClaim, extensions.agents.x-k8s.io
 * /v1beta1), and of its sandbox: the owner, and the name of the pod. Pure code. Runs
 * in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/kubernetes/api/api_fault.h"
#include "backends/kubernetes/pod/pod_state.h"

#define CLAIM_GROUP   "extensions.agents.x-k8s.io"
#define SANDBOX_GROUP "agents.x-k8s.io"

enum claim_word {
    CLAIM_WAITS,   /* for the controller, with reason where it has given one */
    CLAIM_BOUND,   /* to sandbox, which is ready */
    CLAIM_REFUSED, /* for good, by reason */
};

struct claim_state {
    char name[POD_NAME_LIMIT + 1];
    char uid[POD_VERSION_LIMIT + 1];
    char version[POD_VERSION_LIMIT + 1];
    int64_t created_s; /* Unix time of the API server; 0: not said */
    bool deleting;
    enum claim_word word;
    char sandbox[POD_NAME_LIMIT + 1];    /* "": none yet */
    char reason[POD_REASON_LIMIT + 1];   /* of the condition Ready; "": there is none */
    char message[POD_MESSAGE_LIMIT + 1]; /* the same; printable */
};

/* false: it is no claim, and *ret is untouched. */
bool claim_state_read(const json_t *claim, struct claim_state *ret);
/* The reason why a claim is not bound. */
void claim_state_explain(const struct claim_state *state, const char *pool, struct api_fault *ret);

/* Reads the claim's sandbox: *ret_uid, and the name of its pod. false: it is not that claim's, or
 * no sandbox. */
bool claim_sandbox_read(const json_t *sandbox, const char *claim_uid,
                        char ret_uid[POD_VERSION_LIMIT + 1], char ret_pod[POD_NAME_LIMIT + 1]);
/* Whether that sandbox is the pod's controller. */
bool claim_pod_is_of(const json_t *pod, const char *sandbox_uid);
/* The Unix time in such a text ("2026-11-29T00:15:52Z", RFC 3339 as the API server writes it); 0:
 * it is none. */
int64_t claim_time_read(const char *text);
