/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of interpreters that are copied: see fork_server.h. The other side is
 * python/fork_server.c. */
#include "backends/process/supervisor/fork_server/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/common/descriptor_limit.h"
#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/messages/template_message.h"
#include "backends/process/program/program.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/supervisor/fork_server/trusted_path.h"
#include "base/cleanup.h"
#include "protocol/channel.h"

#define START_LIMIT_US (UINT64_C(60) * 1000000) /* to import all that the policy names */
#define COPY_LIMIT_MS  2000                     /* a copy is milliseconds */

/* Its descriptors, numbered from 0. */
#define FORK_SERVER_DESCRIPTORS 6

static int write_template_message(const struct template_message *contents)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = template_message_encode(contents, &length);
    CLEANUP_CLOSE int fd = memfd_create("template", MFD_CLOEXEC);
    if (!message || fd < 0 || write(fd, message, length) != (ssize_t)length)
        return -1;
    return TAKE_FD(fd);
}

/* The child. 0-2 are of the kinds that a run's are (a file, pipes): what an interpreter finds out
 * of them at its start holds for its copies. */
static _Noreturn void become_interpreter(const char *path, char *const *argv,
                                         char *const *environment,
                                         const int fds[FORK_SERVER_DESCRIPTORS])
{
    int moved[FORK_SERVER_DESCRIPTORS];
    for (int i = 0; i < FORK_SERVER_DESCRIPTORS; i++)
        moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FORK_SERVER_DESCRIPTORS);
    for (int i = 0; i < FORK_SERVER_DESCRIPTORS; i++)
        if (moved[i] < 0 || dup2(moved[i], i) < 0)
            _exit(1);
    /* Where nobody can make a file, so COPY_HOME leads to no program of the machine's. */
    if (close_range(FORK_SERVER_DESCRIPTORS, ~0U, 0) == 0 && descriptor_limit_restore() == 0 &&
        chdir("/proc") == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        (void)execve(path, argv, environment);
    _exit(1);
}

/* The child: checks whether the interpreter may be trusted. That takes some ten milliseconds, for
 * which the supervisor cannot wait. */
static _Noreturn void start_interpreter(const struct sandbox_template *template, const char *path,
                                        const int fds[FORK_SERVER_DESCRIPTORS])
{
    const struct interpreter_template *interpreter = &template->interpreter;
    const struct interpreter_place place = {
        .files = interpreter_files_directory(),
        .home = template->isolation == RUN_ISOLATION_UNPRIVILEGED ? COPY_HOME : RUN_HOME,
    };
    struct preparation_outcome outcome = {.kind = PREPARATION_FAILED};
    CLEANUP_FREE char *trusted = interpreter_trust(interpreter, path, &outcome);
    if (!trusted) {
        char words[PREPARATION_WORDS];
        size_t length = preparation_write(FORK_SERVER_USELESS, (enum preparation_kind)outcome.kind,
                                          outcome.detail, words);
        (void)channel_send(fds[FORK_SERVER_FD_SUPERVISOR], words, length, NULL, 0);
        _exit(0);
    }
    char **environment = interpreter_environment(interpreter, &place, trusted);
    char **arguments = interpreter_arguments(interpreter, &place);
    if (environment && arguments)
        become_interpreter(path, arguments, environment, fds);
    _exit(1);
}

static pid_t fork_interpreter(const struct sandbox_template *template, int template_fd, int socket)
{
    const struct interpreter_template *interpreter = &template->interpreter;
    char path[PATH_MAX];
    int ends[2];
    if (program_find_path(interpreter->argv[0], interpreter->runtime_path, path) < 0 ||
        pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    CLEANUP_CLOSE int read_end = ends[0];
    CLEANUP_CLOSE int write_end = ends[1];
    CLEANUP_CLOSE int input = memfd_create("stdin", MFD_CLOEXEC);
    const int fds[FORK_SERVER_DESCRIPTORS] = {
        input,
        write_end,
        write_end,
        [FORK_SERVER_FD_SUPERVISOR] = socket,
        [FORK_SERVER_FD_TEMPLATE] = template_fd,
        [FORK_SERVER_FD_PIPE] = read_end,
    };
    pid_t pid = input < 0 ? -1 : fork();
    if (pid == 0)
        start_interpreter(template, path, fds);
    return pid;
}

struct fork_server *fork_server_start(const struct sandbox_template *template,
                                      const struct seccomp_filters *filters,
                                      const struct namespaces *outside, uint64_t now)
{
    const char *files = interpreter_files_directory();
    CLEANUP_FREE char *own_files = strdup(files ? files : "");
    const struct template_message contents = {
        .template = *template, .filters = *filters, .outside = *outside, .files = own_files};
    CLEANUP_CLOSE int message = write_template_message(&contents);
    CLEANUP_FREE struct fork_server *fork_server = calloc(1, sizeof(*fork_server));
    int pair[2];
    if (message < 0 || !fork_server || !own_files ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return NULL;
    CLEANUP_CLOSE int own_end = pair[0];
    CLEANUP_CLOSE int other_end = pair[1];
    fork_server->pid = fork_interpreter(template, message, other_end);
    if (fork_server->pid < 0)
        return NULL;
    fork_server->socket = TAKE_FD(own_end);
    fork_server->started_us = now;
    return TAKE_POINTER(fork_server);
}

uint64_t fork_server_deadline(const struct fork_server *fork_server)
{
    return fork_server->state == FORK_SERVER_STARTING ? fork_server->started_us + START_LIMIT_US
                                                      : 0;
}

static void take_words(struct fork_server *fork_server, const char *words, size_t length)
{
    if (words[0] == FORK_SERVER_READY)
        fork_server->state = FORK_SERVER_WAITING;
    else if (words[0] == FORK_SERVER_USELESS)
        fork_server->state = FORK_SERVER_IMPOSSIBLE;
    preparation_read(words + 1, length - 1, &fork_server->outcome);
}

void fork_server_look(struct fork_server *fork_server, uint64_t now)
{
    char words[PREPARATION_WORDS];
    if (fork_server->state == FORK_SERVER_IMPOSSIBLE || fork_server->state == FORK_SERVER_GONE)
        return;
    ssize_t length = channel_receive_now(fork_server->socket, words, sizeof(words));
    if (length < 0 && errno == EAGAIN) {
        if (fork_server->state == FORK_SERVER_STARTING &&
            now >= fork_server->started_us + START_LIMIT_US)
            fork_server->state = FORK_SERVER_GONE;
        return;
    }
    fork_server->state = FORK_SERVER_GONE;
    if (length > 0)
        take_words(fork_server, words, (size_t)length);
}

uint64_t fork_server_renewal(const struct fork_server *fork_server,
                             const struct interpreter_template *template)
{
    return fork_server->started_us + template->renew_ms * UINT64_C(1000);
}

bool fork_server_is_old(const struct fork_server *fork_server,
                        const struct interpreter_template *template, uint64_t now)
{
    return fork_server->copies >= template->renew_runs ||
           now >= fork_server_renewal(fork_server, template);
}

/* -1 with errno where no answer came in time, or a malformed one. */
static int receive_answer(const struct fork_server *fork_server, struct fork_server_answer *ret,
                          int *ret_pidfd)
{
    struct pollfd ready = {.fd = fork_server->socket, .events = POLLIN};
    struct fork_server_answer copy;
    size_t count = 0;
    int fd = -1;
    int answered;
    do
        answered = poll(&ready, 1, COPY_LIMIT_MS);
    while (answered < 0 && errno == EINTR);
    errno = ETIMEDOUT;
    if (answered <= 0)
        return -1;
    ssize_t length = channel_receive(fork_server->socket, &copy, sizeof(copy), &fd, 1, &count);
    if (length != sizeof(copy) || (copy.pid > 0) != (count == 1)) {
        if (count == 1)
            close_fd(fd);
        errno = ECONNRESET;
        return -1;
    }
    *ret = copy;
    if (count == 1)
        *ret_pidfd = fd;
    return 0;
}

pid_t fork_server_copy(struct fork_server *fork_server, const char *directory, int child_report,
                       int *ret_pidfd)
{
    struct fork_server_request request = {.word = FORK_SERVER_COPY};
    struct fork_server_answer copy;
    (void)snprintf(request.directory, sizeof(request.directory), "%s", directory);
    if (channel_send(fork_server->socket, &request, sizeof(request), &child_report, 1) < 0 ||
        receive_answer(fork_server, &copy, ret_pidfd) < 0) {
        fork_server->state = FORK_SERVER_GONE;
        return -1;
    }
    fork_server->copies++;
    errno = copy.error_number;
    return copy.pid;
}

void fork_server_end(struct fork_server *fork_server)
{
    if (!fork_server)
        return;
    (void)kill(fork_server->pid, SIGKILL);
    while (waitpid(fork_server->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close_fd(fork_server->socket);
    free(fork_server);
}
