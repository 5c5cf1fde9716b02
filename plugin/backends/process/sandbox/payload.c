/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the last stretch before untrusted code: the lists of what a process puts on itself, before
 * and after it has its run, and its execve. Runs in pid 2 of a sandbox, single-threaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/program/main_program.h"
#include "backends/process/program/program.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

static int close_other_descriptors(struct sandbox *sandbox)
{
    const int kept[] = {sandbox->report, sandbox->supervisor};
    return program_close_other_descriptors(kept, COUNT_OF(kept));
}

static int start_session(struct sandbox *sandbox)
{
    (void)sandbox;
    (void)umask(022);
    return setsid() < 0 ? -1 : 0;
}

static int enter_home(struct sandbox *sandbox)
{
    (void)sandbox;
    return chdir(SANDBOX_HOME);
}

/* Steps that need no run, so that a sandbox can be ready before there is one. */
static const struct step ready_steps[] = {
    {NO_LAYER, STEP_PART, "start_session", start_session},
    {NO_LAYER, STEP_PART, "close_other_descriptors", close_other_descriptors},
    {NO_LAYER, STEP_PART, "enter_home", enter_home},
    {NO_LAYER, STEP_PART, "become_readable_again", become_readable_again},
    {LAYER_NO_NEW_PRIVILEGES, STEP_COMPLETE, "forbid_new_privileges", forbid_new_privileges},
    {LAYER_LANDLOCK, STEP_WANTED, "restrict_by_landlock", restrict_by_landlock},
    {LAYER_SECCOMP, STEP_PART, "restrict_system_calls", restrict_system_calls},
    {LAYER_SECCOMP, STEP_COMPLETE, "hand_over_listener", hand_over_listener},
};

static const struct step run_steps[] = {
    {NO_LAYER, STEP_PART, "write_files", write_files},
    {LAYER_RESOURCE_LIMITS, STEP_COMPLETE, "limit_resources", limit_resources},
};

/* The layers this run may not do without. */
static uint64_t required_layers(const struct run_description *description)
{
    uint64_t required = description->required | LAYERS_MANDATORY;
    if (description->network)
        required &= ~LAYER_BIT(LAYER_NETWORK_NAMESPACE);
    return required;
}

static _Noreturn void refuse_without(const struct sandbox *sandbox, uint64_t lacking)
{
    struct report report = {
        .kind = REPORT_FAILED,
        .isolation = sandbox->isolation,
        .failure = lacking & LAYERS_ALL ? RUN_FAILURE_LAYER : RUN_FAILURE_DESCRIPTION,
        .failed_layer = lacking & LAYERS_ALL ? (uint32_t)__builtin_ctzll(lacking) : 0,
    };
    (void)snprintf(report.message, sizeof(report.message),
                   "a required layer is not available here");
    (void)report_send(sandbox->report, &report);
    _exit(1);
}

/* The steps that need the run, and the check that no required layer is missing. */
static void begin_run(struct sandbox *sandbox)
{
    if (sandbox_apply(sandbox, run_steps, COUNT_OF(run_steps)) < 0)
        _exit(1);
    uint64_t lacking = required_layers(sandbox->description) & ~sandbox->isolation.applied;
    if (lacking)
        refuse_without(sandbox, lacking);
}

static _Noreturn void become_program(struct sandbox *sandbox)
{
    struct run_description description;
    struct program program;
    take_run(sandbox, &description);
    if (program_find(&program, &description, SANDBOX_HOME) < 0 ||
        program_add_runner(&program, &description, sandbox->files) < 0)
        program_report_missing(sandbox->report, &description);
    if (description.preparation.runner == RUN_RUNNER_SHELL &&
        shell_command(&program, &description, sandbox->files) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "compose the command");
    if (description.tool_command &&
        program_add_directory(&program, &description, sandbox->files) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "compose the environment");
    begin_run(sandbox);
    if ((description.results && fcntl(RUN_RESULTS_FD, F_SETFD, 0) < 0) ||
        (description.tools && fcntl(RUN_TOOLS_FD, F_SETFD, 0) < 0))
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "arrange descriptors");
    program_execute(&program, &description, sandbox->report, sandbox->supervisor,
                    &sandbox->isolation);
}

void payload_run(struct sandbox *sandbox)
{
    const struct interpreter_template *interpreter = &sandbox->template->interpreter;
    if (sandbox_apply(sandbox, ready_steps, COUNT_OF(ready_steps)) < 0)
        _exit(1);
    if (interpreter->kind == RUN_INTERPRETER_NONE)
        become_program(sandbox);
    if (!interpreter->fork)
        interpreter_start(sandbox);
}

void payload_take_run(struct sandbox *sandbox, struct run_description *ret,
                      struct program *environment)
{
    take_run(sandbox, ret);
    if (program_compose_environment(environment, ret->environment, SANDBOX_HOME) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "compose the environment");
    begin_run(sandbox);
    program_tell_ready(sandbox->report, sandbox->supervisor, &sandbox->isolation);
    close_fd(TAKE_FD(sandbox->supervisor));
    close_fd(
        TAKE_FD(sandbox->report)); /* the last: init takes its end for the start of the program */
}
