/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's configuration: a JSON file of the operator of the worker's machine. Read whole at the
 * start: an unknown member, a wrong type or a value out of range refuses the file and names the
 * place. Immutable afterwards. Runs in code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/run_description.h"

#define WORKER_CONFIGURATION_LIMIT (1u << 20) /* bytes of the file */
#define WORKER_RUNS_LIMIT          1024       /* what one worker may run at a time */

enum worker_mode { WORKER_PROCESS, WORKER_UNPRIVILEGED, WORKER_DOCKER };

/* The image of the programs of that name; "*": of all others. */
struct worker_image {
    char *program; /* argv[0] without its directory */
    char *image;   /* as the engine knows it */
};

/* Members that are absent are NULL, 0, or what is said. */
struct worker_configuration {
    char *name;          /* for people: gateways log it */
    char *listen;        /* address:port, where gateways connect to */
    char *status_listen; /* address:port of health and metrics; NULL: there is none */
    char *tls_authority; /* paths of PEM files */
    char *tls_certificate;
    char *tls_key;
    char **gateways; /* DNS names that a gateway's certificate may have */
    uint32_t mode;   /* enum worker_mode */
    uint32_t max_runs;
    uint64_t memory_total_bytes; /* the memory limits of the runs under way, together */
    uint64_t drain_seconds;      /* that runs may still take once it is told to end; absent: 60 */
    uint64_t required;           /* LAYER_BITs that every run has, beside what the gateway wants */
    bool allows_network;         /* runs may have the network of the worker's machine */
    char **runtime_path;         /* instead of the gateway's; NULL: the gateway's */
    char **read_only;            /* the same, of the view; NULL: the gateway's, as far as usual */
    uint32_t outer_uid_base;
    uint32_t outer_uid_count;
    /* The most that is kept ready. */
    uint32_t pool_ready;
    uint32_t pool_most;
    uint64_t pool_memory_bytes;
    uint64_t pool_idle_ms;
    struct wire_bytes options; /* of the mode's backend, as a description has them */
    struct worker_image *images;
    size_t image_count;
    /* Inner to the reading, on the way to options. */
    char *scratch_directory;
    char *docker_host, *docker_context, *docker_certificates, *docker_runtime;
};

/* true: *ret is the caller's (worker_configuration_clear()). false with ERROR_INVALID_POLICY, whose
 * message names file and place. */
bool worker_configuration_read(const char *path, struct worker_configuration *ret,
                               struct error *error);
/* The same of a text; what: its name in messages. */
bool worker_configuration_parse(const char *what, const char *text, size_t length,
                                struct worker_configuration *ret, struct error *error);
/* Another name than the file's, for workers that share one. false with ERROR_INVALID_POLICY. */
bool worker_configuration_rename(struct worker_configuration *configuration, const char *name,
                                 struct error *error);
void worker_configuration_clear(struct worker_configuration *configuration);

const char *worker_mode_name(enum worker_mode mode);
/* The backend program of the mode. */
const char *worker_mode_program(enum worker_mode mode);
/* The layers that no run of the mode is without; network: it has one. */
uint64_t worker_mode_layers(enum worker_mode mode, bool network);

/* NULL where no image is for a program of that name. */
const char *worker_image_of(const struct worker_configuration *configuration, const char *program);
