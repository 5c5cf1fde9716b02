/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway's side of docker mode and its backend tell each other, in the opaque parts of a
 * run's description and of its events: which engine, and what it is. Pure code, any thread; both
 * ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define DOCKER_HOST_LIMIT 255 /* bytes of an engine's address */

/* Texts are "" where nothing is given, and NULL is written as "". */
struct docker_options {
    char *host;             /* the engine's address; "": of the context, else the usual places */
    char *context;          /* name of a docker context; "": the one that docker would take */
    char *config_directory; /* docker's own configuration, which has the contexts */
    char *certificates;     /* directory of ca.pem, cert.pem and key.pem */
    uint32_t tls;           /* 1: TCP addresses are spoken to over TLS */
    char *runtime;          /* OCI runtime, "": the engine's default */
};

/* Into *ret, whose bytes before it frees; false when out of memory, or where a text is too long. */
bool docker_options_write(const struct docker_options *options, struct wire_bytes *ret);
/* *ret owns its texts (docker_options_clear()); false where the bytes are no such options. */
bool docker_options_read(const struct wire_bytes *bytes, struct docker_options *ret);
void docker_options_clear(struct docker_options *options);

/* Of the engine, in STARTED and ENDED; "" and 0 where not known. */
struct engine_report {
    char name[32]; /* "docker", "podman" */
    char version[48];
    char api[16];
    char runtime[64];
    char runtime_version[48];
    char kernel[16]; /* "Linux", "gVisor": of the container, once its first process has told */
    uint32_t rootless;
    uint32_t user_namespace;
};

void engine_report_write(const struct engine_report *report, struct run_details *ret);
/* Of a report that is written: whose kernel the container has. */
void engine_report_note_kernel(const char *kernel, struct run_details *details);
/* Nothing is known where the bytes are no report. */
struct engine_report engine_report_read(const struct run_details *details);
