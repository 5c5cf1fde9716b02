/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rehearsal of a run: see rehearsal.h. */
#include "backends/process/python/rehearsal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/python/copy_on_write.h"
#include "backends/process/python/python_abi.h"
#include "backends/process/sandbox/rehearsed_run.h"
#include "base/cleanup.h"
#include "base/write_fully.h"
#include "protocol/channel.h"

#define PATIENCE_MS  5000 /* with the child */
#define FIRST_OWN_FD 100  /* out of the way of those of a run */
#define PROGRAM_FD   3    /* as Python's main has it */

/* What most programs do some of. Its last line has a value. */
static const unsigned char code[] =
    "class Thing:\n    def value(self): return 2**64\n"
    "try:\n    raise ValueError('x')\nexcept ValueError as error:\n    pass\n"
    "print(Thing().value(), [n for n in range(9)], f'{1.5:.2f}')\n1 + 1\n";

static int told = -1; /* the original's pipe, in the child */

static void become_child(int pipe, pid_t original)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != original)
        _exit(1);
    told = fcntl(pipe, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (told < 0 || close_range(STDERR_FILENO + 1, FIRST_OWN_FD - 1, 0) < 0)
        _exit(1);
}

bool rehearsal_begin(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t original = getpid();
    PyOS_BeforeFork();
    pid_t pid = fork();
    if (pid == 0) {
        become_child(ends[1], original);
        return true;
    }
    PyOS_AfterFork_Parent();
    CLEANUP_CLOSE int read_end = ends[0];
    close_fd(ends[1]);
    if (pid < 0)
        return false;
    struct pollfd ready = {.fd = read_end, .events = POLLIN};
    if (poll(&ready, 1, PATIENCE_MS) > 0)
        cow_receive_written(read_end);
    (void)kill(pid, SIGKILL); /* it has nothing more to say */
    (void)waitpid(pid, NULL, 0);
    return false;
}

bool rehearsal_is_on(void)
{
    return told >= 0;
}

/* As the supervisor gives a run. */
static void give_run(int socket)
{
    const struct isolation_report isolation = {.applied = 0};
    int fds[RUN_FD_INSIDE_COUNT];
    int ends[2]; /* both stay open, so that writing does not fail */
    CLEANUP_CLOSE int description = rehearsed_run(code, sizeof(code) - 1);
    if (description < 0 || pipe2(ends, O_CLOEXEC) < 0)
        _exit(1);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = ends[1];
    /* NOLINTNEXTLINE(misc-redundant-expression): the first one is the description today */
    fds[RUN_FD_DESCRIPTION - RUN_FD_FIRST_INSIDE] = description;
    if (channel_send(socket, &isolation, sizeof(isolation), fds, COUNT_OF(fds)) < 0)
        _exit(1);
}

void rehearsal_take_run(struct taken_run *ret)
{
    static const struct blueprint no_layers;
    static struct sandbox sandbox;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        _exit(1);
    give_run(pair[0]);
    sandbox = (struct sandbox){
        .blueprint = &no_layers,
        .places = program_mounted_places,
        .supervisor = pair[1],
        .report = fcntl(pair[1], F_DUPFD_CLOEXEC, 0),
        .inputs = -1,
    };
    interpreter_take_run(&sandbox, ret);
    int program = memfd_create("program", MFD_CLOEXEC);
    if (program < 0 || !write_fully(program, code, sizeof(code) - 1) ||
        (program != PROGRAM_FD && dup2(program, PROGRAM_FD) < 0))
        _exit(1);
}

void rehearsal_end(void)
{
    cow_send_written(told);
    _exit(0);
}
