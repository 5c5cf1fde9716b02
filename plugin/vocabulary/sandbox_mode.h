/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modes in which a program can run. Each is one row, which says what the gateway has to know of
 * it; everything else asks the row and compares no mode. A row is part of its backend, in the
 * folder gateway/ of plugin/backends/NAME/. Constant data, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/layers.h"
#include "protocol/run_description.h"
#include "vocabulary/capability.h"

/* X(constant, its row), the strongest first. The constant is the mode's name in capital letters. A
 * mode with a folder of its name in plugin/backends/ has its backend built from there: meson reads
 * these lines. */
#define SANDBOX_MODES(X)           \
    X(DOCKER, docker_mode)         \
    X(KUBERNETES, kubernetes_mode) \
    X(PROCESS, process_mode)       \
    X(REMOTE, remote_mode)         \
    SANDBOX_VARIANTS(X)            \
    X(NONE, none_mode)
/* Modes that take the place of another one where the policy says so: see variant_of. */
#define SANDBOX_VARIANTS(V) V(UNPRIVILEGED, unprivileged_mode)

enum sandbox_mode {
#define X(constant, row) SANDBOX_MODE_##constant,
    SANDBOX_MODES(X)
#undef X
        SANDBOX_MODE_COUNT
};

#define SANDBOX_MODE_RUNNER(runner) (UINT32_C(1) << (runner))
#define SANDBOX_MODE_EVERY_RUNNER                                                              \
    (SANDBOX_MODE_RUNNER(RUN_INTERPRETER_PYTHON) | SANDBOX_MODE_RUNNER(RUN_INTERPRETER_NODE) | \
     SANDBOX_MODE_RUNNER(RUN_RUNNER_SHELL))

struct call;
struct error;
struct json_draft;
struct json_place;
struct json_t;
struct policy;
struct run_event;
struct wire_bytes;

struct sandbox_mode_row {
    const char *name;
    /* Its backend: a file beside code_execute.so. Several modes may share one. */
    const char *program;
    const char *program_is_missing; /* NULL: the usual message */
    const char *program_remedy;     /* what to do where it is missing */
    const char *machine;            /* where its programs run; NULL: on the gateway's machine */
    uint64_t grace_ms;              /* by which the backend has ended a run that was told to end */

    /* Not NULL: nobody chooses it by its name. It is what that mode's name means where the policy's
     * section of that mode says so in "isolation". Rules name it as itself, so what they say of the
     * other mode does not count here. */
    const struct sandbox_mode_row *variant_of;

    /* NONE: a program has no sandbox, but the gateway's own machine. */
    enum run_isolation isolation;
    uint64_t mandatory_layers; /* LAYER_BITs that each run has, whatever the policy says */
    uint64_t possible_layers;  /* and those that a policy may require */
    enum capability needs;     /* beside CAPABILITY_EXEC; that one: nothing more */
    const char *not_allowed;   /* what to do where the policy does not allow it; NULL: the usual */
    enum sandbox_mode checked_in; /* where content checks run */

    bool has_images;           /* a run comes from an image of the policy's */
    bool shows_workspace;      /* read-only, without the machine's sockets */
    bool prepares_interpreter; /* and can say how */
    uint32_t session_runners;  /* bits of enum run_interpreter: those that stay between calls */
    bool keeps_checkpoints;    /* of the cells of a session, by which it is forked as well */
    uint64_t tells_usage_ms;   /* its backend tells what a cell has spent that has lasted as long;
                                  0: the gateway can look itself (run/cell_usage.h) */
    uint32_t tool_runners;     /* the same: those whose programs and cells can call tools */
    bool has_pool;             /* some are kept ready: as many as its pool in the policy says */
    bool pool_grows;           /* which has "most" and "memory_bytes" */
    bool has_parts;            /* its backend works with several, of which it tells when asked */
    const char *packages_for;  /* what sets of packages are built for, in the names of their links;
                                  NULL: its runs have none, and no_packages says why */
    const char *no_packages;
    bool packages_in_image;   /* they become a part of the run's image, in which they were built;
                                 else they are shown where they lie */
    const char *no_endpoints; /* why its runs reach none; NULL: those that are no cells can */
    const char *network;      /* whose network a program has, where it has one; NULL: never */

    /* Reads the mode's section of the policy (NULL: it is not there), a member of its name, into
     * the options that its backend understands (run_description.h). NULL: the policy has none. */
    bool (*read_options)(const struct json_place *place, struct json_t *section,
                         struct policy *policy, struct wire_bytes *ret);
    /* Adds what the environment of the gateway says to them. NULL: nothing. */
    bool (*add_environment)(struct wire_bytes *options, struct error *error);
    /* What an operator can do where a layer, or a workspace, cannot be had. */
    const char *(*layer_remedy)(enum isolation_layer layer, int error_number);
    const char *(*workspace_remedy)(int error_number); /* NULL: it shows none */
    /* The mode's own members of the result's "isolation.details". NULL: no run of it has any. */
    void (*write_details)(struct json_draft *draft, const struct call *call);
    /* Adds what a trial has shown of the backend to the mode's object in tool_status(). NULL:
     * nothing. */
    void (*add_status)(struct json_t *status, const struct run_event *trial);
};

#define X(constant, row) extern const struct sandbox_mode_row row;
SANDBOX_MODES(X)
#undef X

const struct sandbox_mode_row *sandbox_mode_row(enum sandbox_mode mode);
const char *sandbox_mode_name(enum sandbox_mode mode);
/* false where the name is no mode; exact spelling. */
bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret);
