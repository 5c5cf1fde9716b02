/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the state of a pod from one event of a watch (a line of JSON), or from the pod itself. Pure
 * code. Runs in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define POD_NAME_LIMIT    253
#define POD_VERSION_LIMIT 64
#define POD_REASON_LIMIT  63
#define POD_MESSAGE_LIMIT 255
#define POD_ADDRESS_LIMIT 45 /* of IPv6, as text */

enum pod_change {
    POD_CHANGE_NONE,  /* a bookmark, or an event of a kind that is not known: version alone */
    POD_CHANGE_THERE, /* added or modified */
    POD_CHANGE_DELETED,
    POD_CHANGE_OUTDATED, /* 410: the watch has to begin anew, from a new list */
    POD_CHANGE_FAILED,   /* the server ends the watch, with message */
};

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

struct pod_state {
    char name[POD_NAME_LIMIT + 1];
    char uid[POD_VERSION_LIMIT + 1];
    char version[POD_VERSION_LIMIT + 1]; /* resourceVersion */
    char run[POD_VERSION_LIMIT + 1];     /* POD_LABEL_RUN; "": it has none */
    char node[POD_VERSION_LIMIT + 1];    /* "": it has none yet */
    char address[POD_ADDRESS_LIMIT + 1]; /* of its interface; "": it has none yet */
    enum pod_phase phase;
    bool deleting;   /* it has a deletionTimestamp */
    bool running;    /* its container runs: it can be attached to */
    bool terminated; /* its container has ended, with exit_code */
    int exit_code;
    char reason[POD_REASON_LIMIT + 1];   /* of the container's state or of the pod: ErrImagePull */
    char message[POD_MESSAGE_LIMIT + 1]; /* the same; printable */
};

/* false and *ret untouched: it is no pod. */
bool pod_state_read(const json_t *pod, struct pod_state *ret);

/* One line of a watch. false and nothing else is changed where it is none. *ret_state only with
 * POD_CHANGE_THERE and POD_CHANGE_DELETED; its version with NONE, its message with FAILED.
 * *ret_object: what the line is about, new. */
bool pod_watch_read(const char *line, size_t length, enum pod_change *ret,
                    struct pod_state *ret_state, json_t **ret_object);

/* Whether a pod will never run: its image cannot be fetched, or the kubelet refuses its
 * configuration. A pod that no node takes may wait for a new node. */
bool pod_state_is_hopeless(const struct pod_state *state);
