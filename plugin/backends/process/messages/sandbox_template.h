/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a run that is built into its sandbox: everything that must be known before the
 * sandbox is made. The rest of a description is sent to a sandbox that is ready. Pure, no system
 * call, any process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"

/* The interpreter that waits in a sandbox; see struct run_preparation. Of kind RUN_INTERPRETER_NONE
 * nothing else counts. */
struct interpreter_template {
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
struct sandbox_template {
    uint32_t isolation;
    uint32_t outer_uid_base;
    uint32_t outer_uid_count;
    uint32_t network;
    uint32_t endpoints;
    int endpoints_fd; /* RUN_FD_ENDPOINTS, borrowed, where the run has any; -1: nobody takes its
                         listener. No part of the comparison: sandbox_go brings it */
    uint64_t scratch_bytes;
    uint64_t scratch_inodes;
    uint64_t input_bytes; /* of files by reference, in the scratch beside its own bytes; no part of
                             the comparison: sandbox_go has it */
    char **read_only_paths;
    char *workspace;
    char *scratch_directory; /* process_options.h; "" elsewhere */
    struct directory_id workspace_id;
    uint32_t runner;
    uint32_t tool_command;
    uint32_t installer_commands;
    struct interpreter_template interpreter;
};

/* That of a description. true: *ret owns copies (sandbox_template_clear()); false: no memory. */
bool sandbox_template_of(const struct run_description *description, struct sandbox_template *ret);

bool sandbox_template_equal(const struct sandbox_template *one,
                            const struct sandbox_template *other);

bool sandbox_template_copy(const struct sandbox_template *template, struct sandbox_template *ret);
void sandbox_template_clear(struct sandbox_template *template);

/* Variants, which point into the original: without an interpreter that waits, or with one that is
 * started in the sandbox instead of copied. */
struct sandbox_template sandbox_template_without_interpreter(
    const struct sandbox_template *template);
struct sandbox_template sandbox_template_without_copying(const struct sandbox_template *template);
