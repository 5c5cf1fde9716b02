/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rehearsal of a run: see rehearsal.h. */
#include "backends/process/python/rehearsal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/python/copy_on_write.h"
#include "backends/process/python/python_abi.h"
#include "base/cleanup.h"
#include "base/write_fully.h"
#include "protocol/channel.h"

#define PATIENCE_MS  5000 /* with the child */
#define FIRST_OWN_FD 100  /* out of the way of those of a run */
#define PROGRAM_FD   3    /* as Python's main has it */

/* What most programs do some of. Its last line has a value. */
static unsigned char code[] =
    "class Thing:\n    def value(self): return 2**64\n"
    "try:\n    raise ValueError('x')\nexcept ValueError as error:\n    pass\n"
    "print(Thing().value(), [n for n in range(9)], f'{1.5:.2f}')\n1 + 1\n";

static int told = -1; /* the original's pipe, in the child */

static void become_child(int pipe)
{
    told = fcntl(pipe, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
    if (told < 0 || close_range(STDERR_FILENO + 1, FIRST_OWN_FD - 1, 0) < 0)
        _exit(1);
}

bool rehearsal_begin(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    PyOS_BeforeFork();
    pid_t pid = fork();
    if (pid == 0) {
        become_child(ends[1]);
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

static int make_file(const unsigned char *bytes, size_t length)
{
    int fd = memfd_create("rehearsal", MFD_CLOEXEC);
    if (!bytes || fd < 0 || !write_fully(fd, bytes, length))
        _exit(1);
    return fd;
}

/* A message as the gateway sends it. */
static int make_description(void)
{
    static char nothing[] = "";
    static char interpreter[] = "python3";
    static char program[] = "main.py";
    static char *argv[] = {interpreter, program, NULL};
    struct run_file file = {.path = program, .content = code, .length = sizeof(code) - 1};
    struct run_description made = {
        .results = 1,
        .argv = argv,
        .environment = environ,
        .files = &file,
        .file_count = 1,
        .workspace = nothing,
        .image = {.name = nothing, .id = nothing},
        .preparation = {.argument_count = COUNT_OF(argv) - 1},
    };
    size_t length = 0;
    memset(made.run_id, '0', RUN_ID_LENGTH);
    unsigned char *message = run_description_encode(&made, &length);
    int fd = make_file(message, length);
    free(message);
    return fd;
}

/* As the supervisor gives a run. */
static void give_run(int socket)
{
    const struct isolation_report isolation = {.applied = 0};
    int fds[RUN_FD_INSIDE_COUNT];
    int ends[2]; /* both stay open, so that writing does not fail */
    CLEANUP_CLOSE int description = make_description();
    if (pipe2(ends, O_CLOEXEC) < 0)
        _exit(1);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = ends[1];
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
    int program = make_file(code, sizeof(code) - 1);
    if (program != PROGRAM_FD && dup2(program, PROGRAM_FD) < 0)
        _exit(1);
}

void rehearsal_end(void)
{
    cow_send_written(told);
    _exit(0);
}
