/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the taking over of a run by the process that becomes its program, which may be an
 * interpreter already; the other side is sandbox_handle_give_run(). Runs in pid 2 of a sandbox,
 * single-threaded, behind every layer that needs no run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/program/main_program.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "protocol/channel.h"

static bool has_pipe; /* of an interpreter's streams, until the run's are there */

/* The descriptors of a run from its description on, in the order of enum run_fd. */
struct handed_over {
    struct isolation_report isolation; /* what the supervisor has applied */
    int fds[RUN_FD_INSIDE_COUNT];
};

/* Waits for as long as it takes. false with errno, 0 where the supervisor wants nothing of this
 * sandbox any more. */
static bool receive_run(int supervisor, struct handed_over *ret)
{
    size_t count;
    ssize_t received;
    do
        received = channel_receive(supervisor, &ret->isolation, sizeof(ret->isolation), ret->fds,
                                   COUNT_OF(ret->fds), &count);
    while (received < 0 && errno == EINTR);
    if (received >= 0)
        errno = received == 0 ? 0 : EBADMSG;
    return received == (ssize_t)sizeof(ret->isolation) && count == COUNT_OF(ret->fds);
}

static int given_fd(const struct handed_over *given, enum run_fd which)
{
    return given->fds[which - RUN_FD_FIRST_INSIDE];
}

/* 0-2 become the run's, and the received descriptors are closed but for the socket of its inputs.
 */
static bool take_streams(const struct handed_over *given, const struct run_description *run)
{
    if (dup2(given_fd(given, RUN_FD_STDIN), STDIN_FILENO) < 0 ||
        dup2(given_fd(given, RUN_FD_STDOUT), STDOUT_FILENO) < 0 ||
        dup2(given_fd(given, RUN_FD_STDERR), STDERR_FILENO) < 0)
        return false;
    if (run->results && dup3(given_fd(given, RUN_FD_RESULTS), RUN_RESULTS_FD, O_CLOEXEC) < 0)
        return false;
    if (run->tools && dup3(given_fd(given, RUN_FD_TOOLS), RUN_TOOLS_FD, O_CLOEXEC) < 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(given->fds); i++)
        if (given->fds[i] != given_fd(given, RUN_FD_INPUTS))
            close_fd(given->fds[i]);
    return true;
}

/* The controllers that the supervisor has limited, of the groups that were entered. */
static void settle_control_groups(struct sandbox *sandbox, struct isolation_report *given)
{
    given->cgroup_has_memory &= sandbox->isolation.cgroup_has_memory;
    given->cgroup_has_pids &= sandbox->isolation.cgroup_has_pids;
    if (given->cgroup_has_memory && given->cgroup_has_pids)
        return;
    sandbox->isolation.applied &= ~LAYER_BIT(LAYER_CGROUP);
    sandbox->isolation.missing |= LAYER_BIT(LAYER_CGROUP);
}

void take_run(struct sandbox *sandbox, struct run_description *ret)
{
    struct handed_over given;
    if (!receive_run(sandbox->supervisor, &given)) {
        if (errno == 0)
            _exit(0);
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "wait for the run");
    }
    errno = EBADMSG;
    if (!run_read_description(given_fd(&given, RUN_FD_DESCRIPTION), ret))
        main_program_fail(sandbox->report,
                          errno == ENOMEM ? RUN_FAILURE_INTERNAL : RUN_FAILURE_DESCRIPTION, errno,
                          "read the description");
    if (!take_streams(&given, ret))
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "arrange descriptors");
    sandbox->inputs = given_fd(&given, RUN_FD_INPUTS);
    settle_control_groups(sandbox, &given.isolation);
    given.isolation.applied |= sandbox->isolation.applied;
    given.isolation.missing |= sandbox->isolation.missing;
    given.isolation.landlock_abi = sandbox->isolation.landlock_abi;
    given.isolation.seccomp_instructions = sandbox->isolation.seccomp_instructions;
    sandbox->isolation = given.isolation;
    sandbox->description = ret;
}

static void close_at_execve(int fd)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        main_program_fail(INTERPRETER_FD_REPORT, RUN_FAILURE_INTERNAL, errno,
                          "arrange descriptors");
}

void interpreter_adopt(struct sandbox *ret)
{
    static struct adopted_sandbox adopted;
    ret->supervisor = INTERPRETER_FD_SUPERVISOR;
    ret->report = INTERPRETER_FD_REPORT;
    close_at_execve(ret->supervisor);
    close_at_execve(ret->report);
    if (read(INTERPRETER_FD_SANDBOX, &adopted, sizeof(adopted)) != sizeof(adopted))
        main_program_fail(ret->report, RUN_FAILURE_INTERNAL, errno, "read what the sandbox is");
    close_fd(INTERPRETER_FD_SANDBOX);
    ret->blueprint = blueprint_of(adopted.kind);
    ret->isolation = adopted.isolation;
    sandbox_use_directory(ret, adopted.directory);
    close_at_execve(INTERPRETER_FD_PIPE);
    has_pipe = true;
}

void interpreter_take_run(struct sandbox *sandbox, struct taken_run *ret)
{
    static struct run_description description;
    static struct program environment;
    payload_take_run(sandbox, &description, &environment);
    if (has_pipe)
        close_fd(INTERPRETER_FD_PIPE);
    if (description.purpose == RUN_PURPOSE_TRIAL)
        _exit(0);
    ret->arguments = &description.argv[description.preparation.argument_count];
    ret->environment = environment.environment;
}
