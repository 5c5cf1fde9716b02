/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the last stretch before untrusted code: what a process puts on itself before and after it
 * has its run, and its execve. Runs in the payload of a sandbox, single-threaded.
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

int close_other_descriptors(struct sandbox *sandbox)
{
    const int kept[] = {sandbox->report, sandbox->supervisor};
    return program_close_other_descriptors(kept, COUNT_OF(kept));
}

int start_session(struct sandbox *sandbox)
{
    (void)sandbox;
    (void)umask(022);
    return setsid() < 0 ? -1 : 0;
}

int enter_home(struct sandbox *sandbox)
{
    return chdir(sandbox->places.home);
}

/* The layers this run may not do without. */
static uint64_t required_layers(const struct sandbox *sandbox)
{
    uint64_t required = sandbox->description->required | sandbox->blueprint->mandatory_layers;
    if (sandbox->description->network)
        required &= ~LAYER_BIT(LAYER_NETWORK_NAMESPACE);
    if (sandbox->description->endpoints)
        required |= LAYER_BIT(LAYER_ENDPOINT_BROKER);
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
    if (sandbox_apply(sandbox, &sandbox->blueprint->run) < 0)
        _exit(1);
    uint64_t lacking = required_layers(sandbox) & ~sandbox->isolation.applied;
    if (lacking)
        refuse_without(sandbox, lacking);
}

static _Noreturn void become_program(struct sandbox *sandbox)
{
    struct run_description description;
    struct program program;
    take_run(sandbox, &description);
    if (program_find(&program, &description, &sandbox->places) < 0 ||
        program_add_installers(&program, &description, sandbox->installers) < 0 ||
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
    if (sandbox_apply(sandbox, &sandbox->blueprint->ready) < 0)
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
    if (program_compose_environment(environment, ret->environment, &sandbox->places) < 0 ||
        program_add_installers(environment, ret, sandbox->installers) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "compose the environment");
    begin_run(sandbox);
    program_tell_ready(sandbox->report, sandbox->supervisor, &ret->limits, &sandbox->isolation);
    close_fd(TAKE_FD(sandbox->supervisor));
    close_fd(
        TAKE_FD(sandbox->report)); /* the last: init takes its end for the start of the program */
}
