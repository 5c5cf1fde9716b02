/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem with a cluster: its kind and a message. The plugin gets an error code, the message and
 * a remedy. Fixed buffers; used all over the kubernetes backend.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_event.h"

/* api_fault.c has the remedy of each. The first three have the numbers that every provider of
 * containers gives them. */
enum api_problem {
    API_PROBLEM_NONE = 0,
    API_PROBLEM_SILENT,        /* no answer in time, or a broken one */
    API_PROBLEM_ALTERED,       /* the pod is not the one that was asked for */
    API_PROBLEM_CONFIGURATION, /* the kubeconfig, or the pod's service account, cannot be used */
    API_PROBLEM_CREDENTIALS,   /* a way to log in that this backend lacks, such as a plugin */
    API_PROBLEM_UNREACHABLE,   /* nothing listens there, or no such name */
    API_PROBLEM_CERTIFICATES,  /* TLS: the server is not trusted, or our certificate is refused */
    API_PROBLEM_UNAUTHORIZED,  /* 401 */
    API_PROBLEM_FORBIDDEN,     /* 403 of RBAC: the message names the verb */
    API_PROBLEM_ADMISSION,     /* 403 of a pod that a rule of the cluster refuses */
    API_PROBLEM_QUOTA,         /* 403: the namespace's quota is used up */
    API_PROBLEM_BUSY,          /* 429, or 503 with a time, for too long */
    API_PROBLEM_REFUSED,       /* another answer with an error */
    API_PROBLEM_NO_NAMESPACE,
    API_PROBLEM_NO_IMAGE,    /* the node cannot get the image */
    API_PROBLEM_NO_ROOM,     /* no node takes the pod */
    API_PROBLEM_NOT_STARTED, /* the kubelet or the runtime cannot start its container */
    API_PROBLEM_POD_GONE,    /* deleted or evicted from outside */
    API_PROBLEM_TAKEN,       /* a claim found the pod taken */
    API_PROBLEM_GUEST,       /* the image has another guest than this installation */
    API_PROBLEM_NETWORK,     /* a run's pod reaches addresses: no policy is enforced */
    API_PROBLEM_NO_CLAIMS,   /* the cluster does not serve claims of agent-sandbox */
    API_PROBLEM_NO_POOL,     /* no such warm pool, or it has no template */
    API_PROBLEM_UNBOUND,     /* a claim gets no pod */
    API_PROBLEM_TEMPLATE,    /* a claim's pod is not fit for the run */
    API_PROBLEM_COUNT
};

#define API_MESSAGE_LIMIT 250

struct api_fault {
    unsigned int problem; /* enum api_problem */
    char message[API_MESSAGE_LIMIT];
    uint64_t retry_after_ms; /* of BUSY and QUOTA; 0: not known */
};

/* Fills the fault; false, for the caller to return. */
bool api_fault_set(struct api_fault *fault, enum api_problem problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts the problem's error code and remedy into the event. The kind of failure for the event. */
enum run_failure api_fault_report(unsigned int problem, uint64_t retry_after_ms,
                                  struct run_event *event);
