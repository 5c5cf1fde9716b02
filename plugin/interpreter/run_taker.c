/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the taking of a run by an interpreter: see run_taker.h; what it works with is the sandbox of
 * this process. */
#include "interpreter/run_taker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/program/main_program.h"
#include "base/cleanup.h"
#include "interpreter/cow_prefault.h"
#include "interpreter/fork_server.h"

/* At the most; with what it has written to until here 6 MiB. */
#define OWN_BYTES  ((size_t)23 << 18)
#define READ_BYTES ((size_t)32 << 20)

static struct sandbox sandbox;
static bool has_pipe; /* of its streams, until the run's are there */
static struct run_description description;
static struct program environment;

static void close_at_execve(int fd)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        main_program_fail(INTERPRETER_FD_REPORT, RUN_FAILURE_INTERNAL, errno,
                          "arrange descriptors");
}

void run_taker_adopt(void)
{
    sandbox.supervisor = INTERPRETER_FD_SUPERVISOR;
    sandbox.report = INTERPRETER_FD_REPORT;
    sandbox.listener = INTERPRETER_FD_LISTENER;
    close_at_execve(sandbox.supervisor);
    close_at_execve(sandbox.report);
    close_at_execve(sandbox.listener);
    if (read(INTERPRETER_FD_ISOLATION, &sandbox.isolation, sizeof(sandbox.isolation)) !=
        sizeof(sandbox.isolation))
        main_program_fail(sandbox.report, RUN_FAILURE_INTERNAL, errno, "read the applied layers");
    close_fd(INTERPRETER_FD_ISOLATION);
    close_at_execve(INTERPRETER_FD_PIPE);
    has_pipe = true;
}

void run_taker_serve_forks(const char *left_out, void (*before)(void), void (*after)(void))
{
    fork_server_serve(left_out, before, after, &sandbox);
}

_Noreturn void run_taker_refuse_forks(const char *why)
{
    fork_server_refuse(why);
}

void run_taker_cow_prefault(void)
{
    struct pollfd run = {.fd = sandbox.supervisor, .events = POLLIN};
    if (poll(&run, 1, 0) == 0) /* one that is there already would wait for more than it needs */
        cow_prefault(OWN_BYTES, READ_BYTES);
}

void run_taker_wait(struct taken_run *ret)
{
    payload_take_run(&sandbox, &description, &environment);
    if (has_pipe)
        close_fd(INTERPRETER_FD_PIPE);
    if (description.purpose == RUN_PURPOSE_TRIAL)
        _exit(0);
    ret->arguments = &description.argv[description.preparation.argument_count];
    ret->environment = environment.environment;
}
