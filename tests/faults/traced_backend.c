/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a backend under the injector: see traced_backend.h. */
#include "traced_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "complaints.h"
#include "inspector.h"
#include "protocol/orders/egress_order.h"

#define ANSWER_SECONDS 8 /* beyond every limit of the run's own */

struct backend traced_backend = {.control = -1};

static void note(int number)
{
    (void)number; /* it has ended the ppoll() */
}

void traced_backend_init(void)
{
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    (void)signal(SIGCHLD, note);
}

/* Waits for a tracee to stop or for one of the descriptors. */
static void wait_a_little(struct pollfd *ready, nfds_t number)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)ppoll(ready, number, &pause, &none);
}

/* The backend as the plugin starts it, under the injector from its execve on. */
static pid_t fork_backend(int *ret_control)
{
    int pair[2];
    int go[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || pipe2(go, O_CLOEXEC) < 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        int high = fcntl(pair[1], F_DUPFD_CLOEXEC, 100);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        (void)dup2(null, 2);
        if (read(go[0], &byte, 1) == 1 && dup2(high, BACKEND_CONTROL_FD) >= 0)
            (void)execve(getenv("CODE_EXECUTE_PROCESS"), WORDS("code-execute-process"),
                         WORDS(NULL));
        _exit(127);
    }
    injector_adopt(pid);
    if (write(go[1], "", 1) != 1)
        abort();
    close_fd(go[0]);
    close_fd(go[1]);
    close_fd(pair[1]);
    *ret_control = pair[0];
    return pid;
}

bool traced_backend_start(const struct fault *start_fault)
{
    injector_begin(start_fault, 0);
    (void)fork_backend(&traced_backend.control);
    double latest = now_seconds() + ANSWER_SECONDS;
    struct backend_hello hello;
    for (;;) {
        while (injector_serve())
            ;
        ssize_t length = channel_receive_now(traced_backend.control, &hello, sizeof(hello));
        if (length == (ssize_t)sizeof(hello))
            break;
        if (length >= 0 || now_seconds() > latest || errno != EAGAIN) {
            if (length != 0 && !(length < 0 && errno == ECONNRESET))
                complain("the backend neither starts nor ends", "");
            close_fd(TAKE_FD(traced_backend.control));
            return false;
        }
        struct pollfd ready = {.fd = traced_backend.control, .events = POLLIN};
        wait_a_little(&ready, 1);
    }
    traced_backend.pid = hello.pid;
    return true;
}

bool traced_serve_until(bool (*is_done)(void), double seconds)
{
    double latest = now_seconds() + seconds;
    for (;;) {
        while (injector_serve())
            ;
        if (is_done())
            return true;
        if (now_seconds() > latest)
            return false;
        wait_a_little(NULL, 0);
    }
}

bool traced_backend_has_ended(void)
{
    return !process_is_alive(traced_backend.pid);
}

void traced_backend_stop(void)
{
    if (traced_backend.control < 0)
        return;
    close_fd(TAKE_FD(traced_backend.control));
    if (!traced_serve_until(traced_backend_has_ended, ANSWER_SECONDS))
        complain("the backend does not end", "");
}

static void take_output(int fd, struct answer *answer)
{
    size_t used = strlen(answer->output);
    ssize_t length = read(fd, answer->output + used, sizeof(answer->output) - 1 - used);
    if (length > 0)
        answer->output[used + (size_t)length] = '\0';
}

/* false: nothing more will come. */
static bool take_event(int fd, struct answer *answer)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event;
    ssize_t length = channel_receive_now(fd, message, sizeof(message));
    if (length < 0)
        return errno == EAGAIN;
    if (length == 0 || !run_event_decode(message, (size_t)length, &event))
        return false;
    if (event.type == RUN_EVENT_STARTED) {
        answer->started = true;
        answer->start = event;
        return true;
    }
    answer->ended = true;
    answer->end = event;
    return false;
}

/* Behind the end of the run, as the plugin does. */
static void finish_files(struct left_files *files)
{
    double latest = now_seconds() + ANSWER_SECONDS;
    while (left_files_read(files), files->pipe >= 0) {
        struct pollfd ready = {.fd = files->pipe, .events = POLLIN};
        while (injector_serve())
            ;
        if (now_seconds() > latest) {
            complain("the stream of files does not end", "");
            return;
        }
        wait_a_little(&ready, 1);
    }
}

static void finish(const struct running *running, struct answer *answer)
{
    double latest = now_seconds() + ANSWER_SECONDS;
    struct pollfd ready[] = {{.fd = running->events, .events = POLLIN},
                             {.fd = running->output, .events = POLLIN}};
    (void)fcntl(running->output, F_SETFL, O_NONBLOCK);
    while (!answer->late) {
        while (injector_serve())
            ;
        take_output(running->output, answer);
        if (!take_event(running->events, answer))
            break;
        wait_a_little(ready, COUNT_OF(ready));
        answer->late = now_seconds() > latest;
    }
    take_output(running->output, answer);
    finish_files(&answer->files);
    close_fd(running->events);
    close_fd(running->output);
    close_fd(running->errors);
}

/* The broker's end; the run's lives as long as it. -1: the run has no endpoints. */
static int give_endpoints(const struct run_description *description)
{
    static int given = -1;
    int pair[2];
    close_fd(TAKE_FD(given));
    harness_give_endpoints(-1);
    if (!description->endpoints)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
    given = pair[0];
    harness_give_endpoints(given);
    return pair[1];
}

/* Whether it has come; it is closed. */
static bool take_listener(int broker)
{
    char kind;
    int listener = -1;
    size_t count = 0;
    if (broker < 0)
        return false;
    ssize_t length = channel_receive_fds_now(broker, &kind, sizeof(kind), &listener, 1, &count);
    bool has_come = length == sizeof(kind) && kind == EGRESS_INTAKE_LISTENER && count == 1;
    if (length >= 0 && count == 1)
        close_fd(listener);
    return has_come;
}

void traced_run(const struct fault *run_fault, struct answer *answer)
{
    struct run_description description = inspector_run();
    static const struct fault none;
    struct running running;
    for (int attempt = 0; attempt < 3; attempt++) {
        left_files_clear(&answer->files);
        memset(answer, 0, sizeof(*answer));
        left_files_expect(&answer->files, &description);
        injector_begin(run_fault, traced_backend.pid);
        CLEANUP_CLOSE int broker = give_endpoints(&description);
        bool sent = run_try_begin(&traced_backend, &description, &running);
        left_files_sent();
        if (sent) {
            finish(&running, answer);
            answer->broker_listens = take_listener(broker);
            return;
        }
        /* The end of the one before, still on its way. */
        traced_backend_stop();
        if (!traced_backend_start(&none))
            break;
    }
    complain("no backend takes a run", "");
}
