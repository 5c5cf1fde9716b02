/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong with the engine: the kind, and the words for people. To the plugin it goes as an
 * error code, a message and what to do about it. Fixed buffers, any place in the docker backend.
 */
#pragma once

#include "protocol/run_event.h"

/* What is wrong with the engine; engine_fault.c has what an operator can do about each. */
enum engine_problem {
    ENGINE_PROBLEM_NONE = 0,
    ENGINE_PROBLEM_ADDRESS,       /* not an address this backend can use */
    ENGINE_PROBLEM_NOT_INSTALLED, /* no socket where one is looked for */
    ENGINE_PROBLEM_NOT_RUNNING,   /* nobody listens */
    ENGINE_PROBLEM_NO_PERMISSION, /* the socket is not this user's to open */
    ENGINE_PROBLEM_API_TOO_OLD,
    ENGINE_PROBLEM_NO_SECCOMP,
    ENGINE_PROBLEM_UNFIT,        /* another engine, whose API lacks what is needed */
    ENGINE_PROBLEM_NO_LIMITS,    /* memory, swap, processes or processor cannot be capped */
    ENGINE_PROBLEM_CERTIFICATES, /* TLS: files missing or unreadable, or the peer is not trusted */
    ENGINE_PROBLEM_NO_RUNTIME,   /* the engine does not have the OCI runtime */
    ENGINE_PROBLEM_NO_NETWORK,   /* the engine has no bridge */
    ENGINE_PROBLEM_NO_IMAGE,     /* the engine does not have the image */
    ENGINE_PROBLEM_PULL_REFUSED, /* and the registry does not give it */
    ENGINE_PROBLEM_DIGEST,       /* it is not the image that its digest or id names */
    ENGINE_PROBLEM_IMAGE_UNUSED, /* it has, but the policy or this backend does not take it */
    ENGINE_PROBLEM_REFUSED,      /* an answer that says no, or a warning */
    ENGINE_PROBLEM_SILENT,       /* no answer in time, or a broken one */
    ENGINE_PROBLEM_ALTERED,      /* the container is not the one that was asked for */
    ENGINE_PROBLEM_COUNT
};

#define ENGINE_MESSAGE_LIMIT 250

struct engine_fault {
    enum engine_problem problem;
    char message[ENGINE_MESSAGE_LIMIT];
};

/* Fills the fault. */
void engine_fault_set(struct engine_fault *fault, enum engine_problem problem, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));

/* Puts the error code and the remedy of the problem into the event; why it failed. */
enum run_failure engine_fault_report(const struct engine_fault *fault, struct run_event *event);
