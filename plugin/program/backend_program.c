/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting and ending backend programs with posix_spawn. Runs in the gateway, on any thread inside
 * tool_invoke(), tool_prepare(), tool_status() or tool_shutdown(). The program's own half is
 * plugin/backends/.
 */
#include "program/backend_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "protocol/channel.h"
#include "protocol/run_event.h"

#define HELLO_TIMEOUT_MS  10000
#define ORDER_TIMEOUT_MS  10000
#define ENDING_TIMEOUT_MS 500
#define STOP_TIMEOUT_MS   5000
/* Above the descriptors that posix_spawn's actions put in place, so that none of them overwrites
 * it. */
#define LOWEST_CONTROL_FD 10

/* The directory of this .so, fixed while dlopen() runs: a relative path means nothing after the
 * host's next chdir(). */
static char program_directory[PATH_MAX];

void backend_program_look_beside(const char *path)
{
    if (!realpath(path, program_directory)) {
        program_directory[0] = '\0';
        return;
    }
    char *slash = strrchr(program_directory, '/');
    if (slash)
        *slash = '\0';
}

__attribute__((constructor)) static void remember_program_directory(void)
{
    Dl_info info;
    if (dladdr((const void *)program_directory, &info) != 0 && info.dli_fname)
        backend_program_look_beside(info.dli_fname);
}

static bool program_path(const char *name, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/%s", program_directory, name);
    return length >= 0 && length < PATH_MAX && access(path, X_OK) == 0;
}

bool backend_program_exists(const char *name)
{
    char path[PATH_MAX];
    return program_path(name, path);
}

/* The child's whole world: three times /dev/null, the control socket, no environment, no signal
 * state of the host. Everything else of the host is closed by the program itself (close_range), as
 * hosts forget O_CLOEXEC. */
static int spawn_program(const char *path, int control, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int result = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(&actions, 0, 1);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(&actions, 0, 2);
    if (result == 0)
        result = posix_spawn_file_actions_adddup2(&actions, control, BACKEND_CONTROL_FD);
    if (result == 0)
        result = posix_spawnattr_setsigmask(&attributes, &none);
    if (result == 0)
        result = posix_spawnattr_setsigdefault(&attributes, &all);
    if (result == 0)
        result = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    if (result == 0) {
        char name[] = "code-execute";
        char *const arguments[] = {name, NULL};
        char *const environment[] = {NULL};
        result = posix_spawn(ret, path, &actions, &attributes, arguments, environment);
    }
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return result;
}

/* 0: not by then; otherwise it has ended, or cannot be watched. */
static int wait_for_end(int pidfd, uint64_t deadline)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&ended, 1, deadline_poll_timeout(deadline));
    } while (ready < 0 && errno == EINTR);
    return ready;
}

static void send_kill(int pidfd)
{
    (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* The launcher ends at once, and init becomes the backend's parent; a launcher that hangs is
 * killed. A host that reaps everything may be first. */
static void reap_launcher(pid_t launcher, uint64_t deadline)
{
    CLEANUP_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, launcher, 0);
    if (pidfd >= 0 && wait_for_end(pidfd, deadline) == 0 && waitpid(launcher, NULL, WNOHANG) == 0)
        send_kill(pidfd);
    while (waitpid(launcher, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static bool receive_hello(int control, uint64_t deadline, struct backend_hello *ret)
{
    for (;;) {
        struct pollfd poll_control = {.fd = control, .events = POLLIN};
        int ready = poll(&poll_control, 1, deadline_poll_timeout(deadline));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        size_t fd_count = 0;
        ssize_t length = channel_receive(control, ret, sizeof(*ret), NULL, 0, &fd_count);
        return length == (ssize_t)sizeof(*ret) && ret->protocol_version == PROTOCOL_VERSION &&
               ret->pid > 0 && ret->pid != getpid();
    }
}

bool backend_program_is_ours(const struct backend_program *program)
{
    return program->control >= 0 && program->owner == getpid();
}

void backend_program_forget(struct backend_program *program)
{
    close_fd(TAKE_FD(program->control));
    close_fd(TAKE_FD(program->pidfd));
}

static int make_control_pair(int *ret_ours, int *ret_theirs, struct error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno,
                               "cannot create a socket for the backend");
    CLEANUP_CLOSE int ours = pair[0];
    CLEANUP_CLOSE int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, LOWEST_CONTROL_FD);
    close_fd(pair[1]);
    /* A backend that takes no message must not hold up the host. */
    if (theirs < 0 || fcntl(ours, F_SETFL, O_NONBLOCK) != 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno,
                               "cannot create a socket for the backend");
    *ret_ours = TAKE_FD(ours);
    *ret_theirs = TAKE_FD(theirs);
    return 0;
}

int backend_program_start(const char *name, struct backend_program *ret, struct error *error)
{
    char path[PATH_MAX];
    if (!program_path(name, path))
        return error_set(error, ERROR_BACKEND_UNAVAILABLE,
                         "the backend program %s is not in %.200s", name, program_directory);
    CLEANUP_CLOSE int ours = -1;
    CLEANUP_CLOSE int theirs = -1;
    if (make_control_pair(&ours, &theirs, error) != 0)
        return -1;
    pid_t launcher = 0;
    int result = spawn_program(path, theirs, &launcher);
    if (result != 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, result, "%s does not start", name);
    close_fd(TAKE_FD(theirs));
    uint64_t deadline = monotonic_ms() + HELLO_TIMEOUT_MS;
    reap_launcher(launcher, deadline);

    struct backend_hello hello;
    if (!receive_hello(ours, deadline, &hello))
        return error_set(error, ERROR_BACKEND_UNAVAILABLE, "%s does not answer", name);
    *ret = (struct backend_program){
        .owner = getpid(),
        .control = TAKE_FD(ours),
        .pidfd = (int)syscall(SYS_pidfd_open, hello.pid, 0),
    };
    return 0;
}

/* Only where the gateway is init or a subreaper does the backend end as its child. */
static int await_end(const struct backend_program *program, uint64_t timeout_ms)
{
    int ended = wait_for_end(program->pidfd, monotonic_ms() + timeout_ms);
    if (ended > 0)
        (void)waitid(P_PIDFD, (id_t)program->pidfd, NULL, WEXITED | WNOHANG);
    return ended;
}

static void kill_and_await(const struct backend_program *program)
{
    send_kill(program->pidfd);
    (void)await_end(program, STOP_TIMEOUT_MS);
}

int backend_program_order(const struct backend_program *program, char order, const int *fds,
                          size_t fd_count)
{
    uint64_t deadline = monotonic_ms() + ORDER_TIMEOUT_MS;
    for (;;) {
        if (channel_send(program->control, &order, sizeof(order), fds, fd_count) == 0)
            return 0;
        if (errno != EAGAIN)
            return -1;
        struct pollfd writable = {.fd = program->control, .events = POLLOUT};
        int timeout = deadline_poll_timeout(deadline);
        if (timeout == 0) {
            errno = EAGAIN;
            return -1;
        }
        if (poll(&writable, 1, timeout) < 0 && errno != EINTR)
            return -1;
    }
}

void backend_program_stop(struct backend_program *program)
{
    bool ours = backend_program_is_ours(program);
    /* A child that the gateway forked may have a copy of the socket, so closing is not enough. */
    if (ours)
        (void)shutdown(program->control, SHUT_RDWR);
    close_fd(TAKE_FD(program->control));
    if (ours && program->pidfd >= 0 && await_end(program, STOP_TIMEOUT_MS) == 0)
        kill_and_await(program);
    backend_program_forget(program);
}

void backend_program_forget_ended(struct backend_program *program)
{
    if (backend_program_is_ours(program) && program->pidfd >= 0 &&
        await_end(program, ENDING_TIMEOUT_MS) > 0)
        backend_program_forget(program);
}

void backend_program_kill(struct backend_program *program)
{
    if (backend_program_is_ours(program) && program->pidfd >= 0)
        kill_and_await(program);
    backend_program_forget(program);
}
