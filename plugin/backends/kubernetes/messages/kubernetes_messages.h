/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the gateway's side of mode kubernetes and its backend, in the opaque parts
 * of a run's description and of its events: the cluster, the form of pods, and the facts about a
 * run's pod. Pure code, any thread; both ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define KUBERNETES_NAME_LIMIT 63  /* bytes of a namespace's name (RFC 1123 label) */
#define KUBERNETES_TEXT_LIMIT 253 /* bytes of another object's name (RFC 1123 subdomain) */

/* Texts are "" where nothing is given, and NULL is written as "". */
struct kubernetes_options {
    char *kubeconfig;      /* absolute path; "": the files that a pod has */
    char *context;         /* of the kubeconfig; "": its current one */
    char *name_space;      /* of the runs; "": the context's, else that of the gateway's own pod */
    char *runtime_class;   /* "": the cluster's default runtime */
    char *service_account; /* of the pods, which get no token of it; "": the namespace's default */
    char *pull_secret;     /* with credentials of a registry; "": none */
    char *warm_pool;       /* of agent-sandbox, whose pods the runs get; "": each has its own */
    uint32_t user_namespace; /* 1: hostUsers false, which the nodes' runtime must have */
    char *service_host;      /* of the cluster, as every pod has it in its environment */
    char *service_port;
};

/* Into *ret, whose bytes before it frees; false when out of memory, or where a text is too long. */
bool kubernetes_options_write(const struct kubernetes_options *options, struct wire_bytes *ret);
/* *ret owns its texts (kubernetes_options_clear()); false where the bytes are no such options. */
bool kubernetes_options_read(const struct wire_bytes *bytes, struct kubernetes_options *ret);
void kubernetes_options_clear(struct kubernetes_options *options);

/* Does the cluster keep runs from the network? As tried from inside a pod. */
enum network_proof {
    NETWORK_NOT_PROVEN, /* nothing was tried, or the attempts prove nothing */
    NETWORK_CLOSED,     /* every address was tried, and none was reached */
    NETWORK_OPEN,       /* at least one was reached */
    NETWORK_PROOF_COUNT
};

#define NETWORK_REASON_SIZE 44 /* with a NUL: a report has room for no more */

/* The cluster and the run's pod, in STARTED and ENDED; "" and 0 if not known. */
struct kubernetes_report {
    char server_version[32]; /* "v1.34.4" */
    char name_space[KUBERNETES_NAME_LIMIT + 1];
    char pod[64];
    char node[64];
    char runtime_class[64];
    char kernel[16];        /* "Linux", "gVisor": of the pod, once its first process has told */
    uint32_t network_proof; /* enum network_proof */
    char network_reason[NETWORK_REASON_SIZE]; /* why it is not closed */
};

void kubernetes_report_write(const struct kubernetes_report *report, struct run_details *ret);
/* Nothing is known where the bytes are no report. */
struct kubernetes_report kubernetes_report_read(const struct run_details *details);
