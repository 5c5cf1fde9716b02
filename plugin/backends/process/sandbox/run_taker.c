/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the taking of a run by an interpreter: see run_taker.h. */
#include "backends/process/sandbox/run_taker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/program/main_program.h"
#include "base/cleanup.h"

static bool has_pipe; /* of its streams, until the run's are there */
static struct run_description description;
static struct program environment;

static void close_at_execve(int fd)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        main_program_fail(INTERPRETER_FD_REPORT, RUN_FAILURE_INTERNAL, errno,
                          "arrange descriptors");
}

void run_taker_adopt(struct sandbox *ret)
{
    ret->supervisor = INTERPRETER_FD_SUPERVISOR;
    ret->report = INTERPRETER_FD_REPORT;
    ret->listener = INTERPRETER_FD_LISTENER;
    close_at_execve(ret->supervisor);
    close_at_execve(ret->report);
    close_at_execve(ret->listener);
    if (read(INTERPRETER_FD_ISOLATION, &ret->isolation, sizeof(ret->isolation)) !=
        sizeof(ret->isolation))
        main_program_fail(ret->report, RUN_FAILURE_INTERNAL, errno, "read the applied layers");
    close_fd(INTERPRETER_FD_ISOLATION);
    close_at_execve(INTERPRETER_FD_PIPE);
    has_pipe = true;
}

void run_taker_wait(struct sandbox *sandbox, struct taken_run *ret)
{
    payload_take_run(sandbox, &description, &environment);
    if (has_pipe)
        close_fd(INTERPRETER_FD_PIPE);
    if (description.purpose == RUN_PURPOSE_TRIAL)
        _exit(0);
    ret->arguments = &description.argv[description.preparation.argument_count];
    ret->environment = environment.environment;
}
