/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files of a claim: its state, and their functions for each other. claim.c has the
 * claim's life, claim_requests.c the requests and the watch, claim_ready.c the steps after it is
 * bound. */
#pragma once

#include "backends/kubernetes/claim/claim.h"

struct claim {
    struct api_client *client;
    const struct api_server *server;
    struct pods *pods;
    const struct pod_events *events;
    void *user;
    json_t *body;     /* as asked for */
    json_t *asked;    /* of its pod */
    const char *name; /* in body, as the next three */
    const char *pool;
    const char *owner;
    const char *run_id;
    uint64_t life_s;
    uint64_t asked_us;
    struct claim_state state; /* uid "": the server has said nothing yet */
    char sandbox_uid[POD_VERSION_LIMIT + 1];
    char pod_name[POD_NAME_LIMIT + 1];
    int64_t pod_began_s;   /* Unix time of the node, when the pod started */
    struct pod *pod;       /* once it is ready */
    struct api_call *call; /* the request or the watch under way */
    bool is_creating;
    unsigned int conflicts; /* of its making with the change of another object */
    bool is_refused;        /* its making: while uid is "", there is nothing to remove */
    bool is_bound;          /* to a sandbox */
    bool has_failed;
    bool is_removing;
    bool is_dead;
    struct api_fault not_removed; /* why the claim was not deleted; NONE: it was, or that was not
                                     requested yet */
};

/* claim.c */
extern const struct pod_events claim_pod_events; /* of its pod, with the claim as user */
void claim_fail(struct claim *claim, const struct api_fault *fault);
void claim_fail_memory(struct claim *claim);
/* Takes a state from the server; it may fail the claim. */
void claim_take(struct claim *claim, const json_t *object);
void claim_take_loss(struct claim *claim);
/* The claim was deleted, or could not be, with the fault. The pod is next. */
void claim_take_removal(struct claim *claim, const struct api_fault *fault);

/* claim_requests.c; false when out of memory */
bool claim_ask(struct claim *claim, const char *method, const char *path, const json_t *body,
               uint64_t delay_ms, api_done *done);
bool claim_request_creation(struct claim *claim);
bool claim_request_removal(struct claim *claim);

/* claim_ready.c */
/* Call it when the claim is bound: reads the sandbox and the pod, and checks both. */
void claim_look(struct claim *claim);
