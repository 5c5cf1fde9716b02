/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modes in which a program can run. Each is one row, which says what the gateway has to know of
 * it; everything else asks the row and compares no mode. The rows are in plugin/modes/, because
 * some of their functions need what is above this folder. Constant data, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/layers.h"
#include "vocabulary/capability.h"

/* X(constant, its row), the strongest first. */
#define SANDBOX_MODES(X)     \
    X(DOCKER, docker_mode)   \
    X(PROCESS, process_mode) \
    X(NONE, none_mode)

enum sandbox_mode {
#define X(constant, row) SANDBOX_MODE_##constant,
    SANDBOX_MODES(X)
#undef X
        SANDBOX_MODE_COUNT
};

struct call;
struct error;
struct json_draft;

struct sandbox_mode_row {
    const char *name;
    /* Its backend: a file beside code_execute.so. Several modes may share one. */
    const char *program;
    const char *program_is_missing; /* NULL: the usual message */
    const char *program_remedy;     /* what to do where it is missing */
    uint64_t grace_ms;              /* by which the backend has ended a run that was told to end */

    /* A program has a sandbox, and not the gateway's own machine. */
    bool isolates;
    uint64_t mandatory_layers; /* LAYER_BITs that each run has, whatever the policy says */
    enum capability needs;     /* beside CAPABILITY_EXEC; that one: nothing more */
    const char *not_allowed;   /* what to do where the policy does not allow it; NULL: the usual */
    enum sandbox_mode checked_in; /* where content checks run */

    bool has_images;           /* a run comes from an image of the policy's "docker" */
    bool has_shell;            /* a shell starts the program, and keeps some variables for itself */
    bool shows_workspace;      /* read-only, without the machine's sockets */
    bool prepares_interpreter; /* and can say how */
    bool pool_grows;           /* the policy's pool has "most" and "memory_bytes" */
    const char *network;       /* whose network a program has, where it has one */

    /* What can be done where a layer cannot be had: writes a text of at most size bytes. */
    void (*explain_layer)(enum isolation_layer layer, int error_number, char *hint, size_t size);
    /* The members of the result's "isolation.details". NULL: there are none. */
    void (*write_details)(struct json_draft *draft, const struct call *call);
};

const struct sandbox_mode_row *sandbox_mode_row(enum sandbox_mode mode);
const char *sandbox_mode_name(enum sandbox_mode mode);
/* false where the name is no mode; exact spelling. */
bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret);
