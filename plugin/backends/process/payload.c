/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the last stretch before untrusted code: the lists of what a process puts on itself, before
 * and after it has its run, and its execve. Runs in pid 2 of a sandbox, single-threaded.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../cleanup.h"
#include "program.h"
#include "sandbox.h"

static int close_other_descriptors(struct sandbox *sandbox)
{
    return program_close_other_descriptors(sandbox->report, sandbox->supervisor);
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

/* What needs no run, so that a sandbox can be ready before there is one. */
static const struct step ready_steps[] = {
    {NO_LAYER, STEP_PART, "start_session", start_session},
    {NO_LAYER, STEP_PART, "close_other_descriptors", close_other_descriptors},
    {NO_LAYER, STEP_PART, "enter_home", enter_home},
    {LAYER_NO_NEW_PRIVILEGES, STEP_COMPLETE, "forbid_new_privileges", forbid_new_privileges},
    {LAYER_LANDLOCK, STEP_WANTED, "restrict_by_landlock", restrict_by_landlock},
    {LAYER_SECCOMP, STEP_COMPLETE, "restrict_system_calls", restrict_system_calls},
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
                   "a required layer is not to be had here");
    (void)report_send(sandbox->report, &report);
    _exit(1);
}

_Noreturn void payload_run(struct sandbox *sandbox)
{
    struct run_description description;
    struct program program;
    if (sandbox_apply(sandbox, ready_steps, COUNT_OF(ready_steps)) < 0)
        _exit(1);
    take_run(sandbox, &description);
    if (program_find(&program, &description, SANDBOX_HOME) < 0)
        program_report_missing(sandbox->report, &description);
    if (sandbox_apply(sandbox, run_steps, COUNT_OF(run_steps)) < 0)
        _exit(1);
    uint64_t lacking = required_layers(&description) & ~sandbox->isolation.applied;
    if (lacking)
        refuse_without(sandbox, lacking);
    program_execute(&program, &description, sandbox->report, sandbox->supervisor,
                    &sandbox->isolation, sandbox->listener);
}
