/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run is built into its sandbox: all that has to be known before the sandbox is made.
 * The rest of a description comes to a sandbox that is ready. Pure, no system call, any process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"

/* The interpreter that waits in a sandbox; see struct run_preparation. Of kind RUN_INTERPRETER_NONE
 * nothing else counts. */
struct interpreter_shape {
    uint32_t kind;
    uint32_t fork;
    char **argv;
    uint32_t program_argument;
    char **environment;
    char **runtime_path;
    char **modules;
    char **named_modules;
    bool is_trial; /* of the named modules, see interpreter_trial.h; no part of the comparison */
    uint64_t renew_runs;
    uint64_t renew_ms;
};

/* As the members of the same names in struct run_description. */
struct sandbox_shape {
    uint32_t outer_uid_base;
    uint32_t outer_uid_count;
    uint32_t network;
    uint64_t scratch_bytes;
    uint64_t scratch_inodes;
    char **read_only_paths;
    char *workspace;
    struct directory_id workspace_id;
    struct interpreter_shape interpreter;
};

/* That of a description. true: *ret owns copies (sandbox_shape_clear()); false: no memory. */
bool sandbox_shape_of(const struct run_description *description, struct sandbox_shape *ret);

bool sandbox_shape_equal(const struct sandbox_shape *one, const struct sandbox_shape *other);

bool sandbox_shape_copy(const struct sandbox_shape *shape, struct sandbox_shape *ret);
void sandbox_shape_clear(struct sandbox_shape *shape);

/* Variants, which point into the original: no interpreter waits in the sandbox, or one that was
 * started there. */
struct sandbox_shape sandbox_shape_without_interpreter(const struct sandbox_shape *shape);
struct sandbox_shape sandbox_shape_without_copying(const struct sandbox_shape *shape);
/* The latter to try the import of its named modules, and to end. */
struct sandbox_shape sandbox_shape_of_trial(const struct sandbox_shape *shape);
