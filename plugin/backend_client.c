/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting backend programs and handing them runs. Runs in the gateway, on any thread inside
 * tool_invoke(), tool_prepare(), tool_status() or tool_shutdown(). The program's own half is
 * plugin/backends/.
 */
#include "backend_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "deadline.h"
#include "protocol/channel.h"
#include "protocol/run_event.h"

#define HELLO_TIMEOUT_MS 10000
#define SEND_TIMEOUT_MS  10000
#define STOP_TIMEOUT_MS  5000
/* Above the descriptors that posix_spawn's actions put in place, so that none of them overwrites
 * it. */
#define LOWEST_CONTROL_FD 10

struct backend {
    const char *program;
    pthread_mutex_t mutex;
    pid_t owner; /* the process that started it: a fork of the gateway starts its own */
    int control; /* -1: not running */
    int pidfd;
};

/* Modes process and none are one program: the description says which layers a run gets. */
static struct backend process_backend = {
    .program = "code-execute-process",
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .control = -1,
    .pidfd = -1,
};
static struct backend docker_backend = {
    .program = "code-execute-docker",
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .control = -1,
    .pidfd = -1,
};
static struct backend *const backends[] = {&process_backend, &docker_backend};

/* The directory of this .so, fixed while dlopen() runs: a relative path means nothing after the
 * host's next chdir(). */
static char program_directory[PATH_MAX];

__attribute__((constructor)) static void remember_program_directory(void)
{
    Dl_info info;
    if (dladdr((const void *)&backends, &info) == 0 || info.dli_fname == NULL)
        return;
    if (realpath(info.dli_fname, program_directory) == NULL) {
        program_directory[0] = '\0';
        return;
    }
    char *slash = strrchr(program_directory, '/');
    if (slash != NULL)
        *slash = '\0';
}

static struct backend *backend_of(enum sandbox_mode mode)
{
    return mode == SANDBOX_MODE_DOCKER ? &docker_backend : &process_backend;
}

static void unlock_backend(struct backend **backend)
{
    (void)pthread_mutex_unlock(&(*backend)->mutex);
}

void backend_run_close(struct backend_run *run)
{
    close_fd(TAKE_FD(run->events));
    close_fd(TAKE_FD(run->stdout_fd));
    close_fd(TAKE_FD(run->stderr_fd));
}

static struct backend_run take_run(struct backend_run *run)
{
    struct backend_run taken = *run;
    *run = (struct backend_run)BACKEND_RUN_EMPTY;
    return taken;
}

static int program_path(const struct backend *backend, char path[PATH_MAX], struct error *error)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", program_directory, backend->program);
    if (length < 0 || length >= PATH_MAX || access(path, X_OK) != 0) {
        error_set(error, ERROR_BACKEND_UNAVAILABLE,
                  "the backend program %s is not beside code_execute.so", backend->program);
        return -1;
    }
    return 0;
}

bool backend_exists(enum sandbox_mode mode, struct error *error)
{
    char path[PATH_MAX];
    if (program_path(backend_of(mode), path, error) == 0)
        return true;
    if (mode == SANDBOX_MODE_DOCKER) {
        error_set(error, ERROR_BACKEND_UNAVAILABLE,
                  "docker is not available: this installation has no docker backend "
                  "(code-execute-docker is not beside code_execute.so)");
        error_set_hint(
            error, "install the docker backend, or set CODE_EXEC_SANDBOX=process; a weaker mode is "
                   "never chosen by itself");
    } else {
        error_set_hint(error, "reinstall code-execute: its programs stand beside code_execute.so");
    }
    return false;
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

/* The launcher ends at once and leaves the backend to init; one that does not is killed. A host
 * that reaps everything may be first. */
static void reap_launcher(pid_t launcher, uint64_t deadline)
{
    CLEANUP_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, launcher, 0);
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    int ready = 0;
    do {
        ready = pidfd >= 0 ? poll(&ended, 1, deadline_poll_timeout(deadline)) : 1;
    } while (ready < 0 && errno == EINTR);
    if (ready == 0 && waitpid(launcher, NULL, WNOHANG) == 0)
        (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
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

static void forget_backend(struct backend *backend)
{
    close_fd(TAKE_FD(backend->control));
    close_fd(TAKE_FD(backend->pidfd));
}

/* Called with the mutex held. */
static int ensure_started(struct backend *backend, struct error *error)
{
    if (backend->control >= 0 && backend->owner == getpid())
        return 0;
    forget_backend(backend);

    char path[PATH_MAX];
    if (program_path(backend, path, error) != 0)
        return -1;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno,
                               "no socket for the backend");
    CLEANUP_CLOSE int ours = pair[0];
    CLEANUP_CLOSE int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, LOWEST_CONTROL_FD);
    close_fd(pair[1]);
    /* A backend that takes no message must not hold up the host. */
    if (theirs < 0 || fcntl(ours, F_SETFL, O_NONBLOCK) != 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno,
                               "no socket for the backend");

    pid_t launcher = 0;
    int result = spawn_program(path, theirs, &launcher);
    if (result != 0)
        return error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, result, "%s does not start",
                               backend->program);
    close_fd(TAKE_FD(theirs));
    uint64_t deadline = monotonic_ms() + HELLO_TIMEOUT_MS;
    reap_launcher(launcher, deadline);

    struct backend_hello hello;
    if (!receive_hello(ours, deadline, &hello))
        return error_set(error, ERROR_BACKEND_UNAVAILABLE, "%s does not answer", backend->program);
    backend->pidfd = (int)syscall(SYS_pidfd_open, hello.pid, 0);
    backend->owner = getpid();
    backend->control = TAKE_FD(ours);
    return 0;
}

/* The message in a memfd, sealed: what was checked is what the backend reads. */
static int description_memfd(const struct run_description *description, struct error *error)
{
    size_t length = 0;
    unsigned char *message = run_description_encode(description, &length);
    if (message == NULL)
        return error_set(error, ERROR_OUT_OF_MEMORY,
                         "the run's description does not fit into memory");
    CLEANUP_CLOSE int fd = memfd_create("code-execute-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool written = fd >= 0;
    for (size_t offset = 0; written && offset < length;) {
        ssize_t count = write(fd, message + offset, length - offset);
        if (count < 0 && errno == EINTR)
            continue;
        written = count > 0;
        offset += count > 0 ? (size_t)count : 0;
    }
    int error_number = errno;
    explicit_bzero(message, length);
    free(message);
    if (!written)
        return error_set_errno(error, ERROR_BACKEND_FAILED, error_number,
                               "no memory file for the run");
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                               "the run's memory file cannot be sealed");
    return TAKE_FD(fd);
}

static int output_pipe(int *ret_read, int *ret_write, struct error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(error, ERROR_BACKEND_FAILED, errno, "no pipe for the run's output");
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        int error_number = errno;
        close_fd(ends[0]);
        close_fd(ends[1]);
        return error_set_errno(error, ERROR_BACKEND_FAILED, error_number,
                               "no pipe for the run's output");
    }
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

/* The socket's buffer holds some hundred orders. With more calls at once, one waits for the backend
 * to take those before it, but not for ever. */
static int send_order(int control, const int fds[RUN_FD_COUNT])
{
    const char order = CONTROL_RUN;
    uint64_t deadline = monotonic_ms() + SEND_TIMEOUT_MS;
    for (;;) {
        if (channel_send(control, &order, sizeof(order), fds, RUN_FD_COUNT) == 0)
            return 0;
        if (errno != EAGAIN)
            return -1;
        struct pollfd writable = {.fd = control, .events = POLLOUT};
        int timeout = deadline_poll_timeout(deadline);
        if (timeout == 0) {
            errno = EAGAIN;
            return -1;
        }
        if (poll(&writable, 1, timeout) < 0 && errno != EINTR)
            return -1;
    }
}

/* A backend that died since the last run is started once more; one that dies again is an error. */
static int send_run(struct backend *backend, const int fds[RUN_FD_COUNT], struct error *error)
{
    CLEANUP(unlock_backend) struct backend *locked = backend;
    (void)pthread_mutex_lock(&locked->mutex);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (ensure_started(locked, error) != 0)
            return -1;
        if (send_order(locked->control, fds) == 0)
            return 0;
        if (errno != EPIPE && errno != ECONNRESET)
            return error_set_errno(error, ERROR_BACKEND_FAILED, errno, "the backend takes no run");
        forget_backend(locked);
    }
    return error_set(error, ERROR_BACKEND_FAILED, "the backend ends as soon as it is started");
}

bool backend_start_run(enum sandbox_mode mode, const struct run_description *description,
                       int stdin_fd, struct backend_run *ret, struct error *error)
{
    CLEANUP(backend_run_close) struct backend_run run = BACKEND_RUN_EMPTY;
    CLEANUP_CLOSE int events = -1;
    CLEANUP_CLOSE int stdout_write = -1;
    CLEANUP_CLOSE int stderr_write = -1;
    CLEANUP_CLOSE int memfd = description_memfd(description, error);
    if (memfd < 0)
        return false;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set_errno(error, ERROR_BACKEND_FAILED, errno, "no socket for the run");
        return false;
    }
    run.events = pair[0];
    events = pair[1];
    if (output_pipe(&run.stdout_fd, &stdout_write, error) != 0 ||
        output_pipe(&run.stderr_fd, &stderr_write, error) != 0)
        return false;
    const int fds[RUN_FD_COUNT] = {
        [RUN_FD_EVENTS] = events,       [RUN_FD_DESCRIPTION] = memfd,   [RUN_FD_STDIN] = stdin_fd,
        [RUN_FD_STDOUT] = stdout_write, [RUN_FD_STDERR] = stderr_write,
    };
    if (send_run(backend_of(mode), fds, error) != 0)
        return false;
    *ret = take_run(&run);
    return true;
}

static void stop_backend(struct backend *backend)
{
    CLEANUP(unlock_backend) struct backend *locked = backend;
    (void)pthread_mutex_lock(&locked->mutex);
    bool ours = locked->control >= 0 && locked->owner == getpid();
    close_fd(TAKE_FD(locked->control));
    if (ours && locked->pidfd >= 0) {
        uint64_t deadline = monotonic_ms() + STOP_TIMEOUT_MS;
        struct pollfd ended = {.fd = locked->pidfd, .events = POLLIN};
        int ready = 0;
        do {
            ready = poll(&ended, 1, deadline_poll_timeout(deadline));
        } while (ready < 0 && errno == EINTR);
        if (ready == 0) {
            (void)syscall(SYS_pidfd_send_signal, locked->pidfd, SIGKILL, NULL, 0);
            (void)poll(&ended, 1, STOP_TIMEOUT_MS);
        }
        /* Only where the gateway is init or a subreaper does the backend end as its child. */
        (void)waitid(P_PIDFD, (id_t)locked->pidfd, NULL, WEXITED | WNOHANG);
    }
    forget_backend(locked);
}

void backend_stop_all(void)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++)
        stop_backend(backends[i]);
}
