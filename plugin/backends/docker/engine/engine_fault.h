/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of problems with the engine. The plugin gets one as an error code, the fault's message
 * and a remedy. Used all over the docker backend.
 */
#pragma once

#include "backends/guest_runs/container/fault.h"
#include "protocol/run_event.h"

/* engine_fault.c has the remedy of each. */
enum engine_problem {
    ENGINE_PROBLEM_NONE = FAULT_NONE,
    ENGINE_PROBLEM_SILENT = FAULT_SILENT,   /* no answer in time, or a broken one */
    ENGINE_PROBLEM_ALTERED = FAULT_ALTERED, /* the container is not the one that was asked for */
    ENGINE_PROBLEM_ADDRESS = FAULT_KINDS,   /* not an address this backend can use */
    ENGINE_PROBLEM_NOT_INSTALLED,           /* no socket where one is looked for */
    ENGINE_PROBLEM_NOT_RUNNING,             /* nothing listens on the socket */
    ENGINE_PROBLEM_NO_PERMISSION,           /* this user may not open the socket */
    ENGINE_PROBLEM_API_TOO_OLD,
    ENGINE_PROBLEM_NO_SECCOMP,
    ENGINE_PROBLEM_UNFIT,        /* another engine, whose API lacks what is needed */
    ENGINE_PROBLEM_NO_LIMITS,    /* memory, swap, processes or processor cannot be capped */
    ENGINE_PROBLEM_CERTIFICATES, /* TLS: files missing or unreadable, or the peer is not trusted */
    ENGINE_PROBLEM_NO_RUNTIME,   /* the engine does not have the OCI runtime */
    ENGINE_PROBLEM_NO_NETWORK,   /* the engine has no bridge */
    ENGINE_PROBLEM_NO_IMAGE,     /* the engine does not have the image */
    ENGINE_PROBLEM_PULL_REFUSED, /* the registry refuses the image */
    ENGINE_PROBLEM_DIGEST,       /* the image is not the one that the digest or id names */
    ENGINE_PROBLEM_IMAGE_UNUSED, /* the policy or this backend does not accept the image */
    ENGINE_PROBLEM_REFUSED,      /* an answer with an error, or a warning */
    ENGINE_PROBLEM_NO_GUEST,     /* this installation has no guest for the image's architecture */
    ENGINE_PROBLEM_NO_COMMIT,    /* the engine does not make an image with the guest in it */
    ENGINE_PROBLEM_IMAGE_GONE,   /* a container's image was removed since it was looked up */
    ENGINE_PROBLEM_PACKAGES,     /* a set of packages is not the one that was built */
    ENGINE_PROBLEM_COUNT
};

/* Puts the problem's error code and remedy into the event. The kind of failure for the event. */
enum run_failure engine_fault_report(const struct engine_fault *fault, struct run_event *event);
