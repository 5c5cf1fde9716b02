/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the start of an interpreter that waits in its sandbox for a run. Runs in pid 2 of a sandbox,
 * behind every layer that needs no run, and ends in execve; the other side is python/ or node/.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/program/main_program.h"
#include "backends/process/program/program.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

/* Above all that have a place, so that none is overwritten before it has its own. */
static int duplicate_above(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, INTERPRETER_FD_PIPE + 1);
}

static int pass_descriptor(int fd, enum interpreter_fd place)
{
    return fd < 0 || dup2(fd, (int)place) < 0 ? -1 : 0;
}

/* The read end of a pipe that has it in it. */
static int write_adopted(const struct sandbox *sandbox)
{
    int ends[2];
    struct adopted_sandbox adopted = {.kind = sandbox->template->isolation,
                                      .isolation = sandbox->isolation};
    (void)snprintf(adopted.directory, sizeof(adopted.directory), "%s",
                   sandbox->directory ? sandbox->directory : "");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    CLEANUP_CLOSE int read_end = ends[0];
    CLEANUP_CLOSE int write_end = ends[1];
    if (write(write_end, &adopted, sizeof(adopted)) != sizeof(adopted))
        return -1;
    return TAKE_FD(read_end);
}

/* 1 and 2 are of the kind that a run's are: what an interpreter finds out of them at its start
 * holds for its run. */
static int pass_streams(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    CLEANUP_CLOSE int read_end = duplicate_above(ends[0]);
    CLEANUP_CLOSE int write_end = duplicate_above(ends[1]);
    close_fd(ends[0]);
    close_fd(ends[1]);
    if (write_end < 0 || dup2(write_end, STDOUT_FILENO) < 0 || dup2(write_end, STDERR_FILENO) < 0)
        return -1;
    return pass_descriptor(read_end, INTERPRETER_FD_PIPE);
}

static int pass_descriptors(struct sandbox *sandbox)
{
    int adopted = duplicate_above(write_adopted(sandbox));
    int supervisor = duplicate_above(sandbox->supervisor);
    int report = duplicate_above(sandbox->report);
    if (report < 0)
        return -1;
    sandbox->report = report;
    if (pass_descriptor(supervisor, INTERPRETER_FD_SUPERVISOR) < 0 ||
        pass_descriptor(report, INTERPRETER_FD_REPORT) < 0)
        return -1;
    if (pass_descriptor(adopted, INTERPRETER_FD_SANDBOX) < 0)
        return -1;
    return pass_streams();
}

_Noreturn void interpreter_start(struct sandbox *sandbox)
{
    const struct interpreter_template *interpreter = &sandbox->template->interpreter;
    char path[PATH_MAX];
    if (program_find_path(interpreter->argv[0], interpreter->runtime_path, path) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_RUNTIME_MISSING, errno,
                          interpreter->argv[0]);
    const struct interpreter_place place = {.files = sandbox->files, .home = sandbox->places.home};
    char **environment = interpreter_environment(interpreter, &place, "");
    char **arguments = interpreter_arguments(interpreter, &place);
    if (!environment || !arguments)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, ENOMEM, "start the interpreter");
    if (pass_descriptors(sandbox) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, "arrange descriptors");
    (void)execve(path, arguments, environment);
    main_program_fail(sandbox->report, RUN_FAILURE_EXEC, errno, interpreter->argv[0]);
}
