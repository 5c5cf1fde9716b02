/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner to the pods of a gateway: their state, and what the files of it offer each other. pods.c
 * has the list and the effect of an event on a pod, pod_requests.c the requests about one,
 * pods_watch.c the watch, pods_sweep.c the sweep.
 */
#pragma once

#include "backends/kubernetes/pod/pods.h"

struct pods_watch {
    struct api_call *call;               /* the list or the watch; NULL: neither */
    char version[POD_VERSION_LIMIT + 1]; /* from which the watch goes on; "": list first */
    unsigned int round;                  /* of lists */
    unsigned int failures;               /* one after the other */
    bool is_broken;                      /* a line was none */
};

struct pods {
    struct api_client *client;
    const struct api_server *server;
    char *name_space;
    char *owner;
    struct pod *list;
    struct pods_watch watch;
};

struct pod {
    struct pod *next;
    struct pods *pods;
    const struct pod_events *events;
    void *user;
    json_t *config;         /* as asked for */
    json_t *claimed_config; /* the same by a claim under way; NULL: there is none */
    const char *name;       /* in config */
    struct pod_state state; /* uid "": the server has said nothing yet */
    struct api_call *call;  /* the request under way */
    bool is_creating;       /* the answer to its making is still to come */
    unsigned int conflicts; /* of its making with the change of another object */
    bool is_refused;        /* its making: while uid is "", there is nothing to remove */
    bool is_ready;          /* told */
    bool has_failed;        /* told */
    bool has_ended;         /* told */
    bool is_removing;
    bool is_dead;       /* the node's confirmation is not needed */
    bool is_gone;       /* the server has it no more */
    unsigned int looks; /* at one that is being removed */
    unsigned int round; /* of the list before which it was made */
    bool is_listed;
    bool is_unbound;  /* made by others, and without our labels so far */
    uint64_t made_us; /* when its making was asked for: no later than the pod's start */
};

/* pods.c */
/* Takes a state from the server; is_deleted: the pod is gone. States older than the known one are
 * ignored. It may free pods. */
void pods_take(struct pods *pods, const json_t *object, const struct pod_state *state,
               bool is_deleted);
/* The same without an object. */
void pod_take_loss(struct pod *pod);
void pod_fail(struct pod *pod, const struct api_fault *fault);
/* Fails the pods that are not ready: the cluster does not report on them. */
void pods_fail_waiting(struct pods *pods, const struct api_fault *fault);
/* Calls "removed": the pod is gone, or the fault says why not. */
void pod_tell_removed(struct pod *pod, const struct api_fault *fault);

/* pod_requests.c */
bool pod_request_creation(struct pod *pod);
/* Asks the server to remove it. false when out of memory. */
bool pod_request_removal(struct pod *pod);

/* pods_watch.c */
/* Begins to watch, unless it does. */
void pods_watch_begin(struct pods *pods);
void pods_watch_end(struct pods *pods);
