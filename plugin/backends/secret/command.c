/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the command's process and all processes that it starts: as a subreaper the helper inherits
 * those that are left behind, and kills them (prctl(2), PR_SET_CHILD_SUBREAPER). Runs in the helper
 * program.
 */
#include "backends/secret/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/common/descriptor_limit.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define KILL_LIMIT_MS 5000
#define KILL_PAUSE_MS 2

struct command {
    int pidfd;
    int output; /* read end, non-blocking; -1: at its end */
    unsigned char *bytes;
    size_t capacity;
    size_t length;
};

/* The new process, up to its execve(); an error goes through the pipe. */
__attribute__((noreturn)) static void execute_command(const struct secret_order *order, int output,
                                                      int failure, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && setsid() >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && descriptor_limit_restore() == 0)
        (void)execve(order->argv[0], order->argv, order->environment);
    int error_number = errno;
    (void)!write(failure, &error_number, sizeof(error_number));
    _exit(127);
}

/* 0, or the errno with which it did not start. */
static int start_command(const struct secret_order *order, struct command *command)
{
    int output[2];
    int failure[2];
    if (pipe2(output, O_CLOEXEC) < 0)
        return errno;
    CLEANUP_CLOSE int output_read = output[0];
    CLEANUP_CLOSE int output_write = output[1];
    if (fcntl(output_read, F_SETFL, O_NONBLOCK) < 0 || pipe2(failure, O_CLOEXEC) < 0)
        return errno;
    CLEANUP_CLOSE int failure_read = failure[0];
    CLEANUP_CLOSE int failure_write = failure[1];
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        execute_command(order, output_write, failure_write, parent);
    close_fd(TAKE_FD(failure_write));
    int error_number = 0;
    ssize_t count;
    do
        count = read(failure_read, &error_number, sizeof(error_number));
    while (count < 0 && errno == EINTR);
    command->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (count != 0 || command->pidfd < 0)
        return count == (ssize_t)sizeof(error_number) ? error_number : errno;
    command->output = TAKE_FD(output_read);
    return 0;
}

/* Reads the output that is there now. false: it is longer than allowed. */
static bool read_output(struct command *command)
{
    while (command->output >= 0) {
        if (command->length == command->capacity)
            return false;
        ssize_t count = read(command->output, command->bytes + command->length,
                             command->capacity - command->length);
        if (count > 0) {
            command->length += (size_t)count;
            continue;
        }
        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0 || errno != EAGAIN)
            close_fd(TAKE_FD(command->output));
        break;
    }
    return true;
}

/* Until the command has ended: its children may hold its output open for ever. */
static enum secret_outcome follow_command(struct command *command,
                                          const struct command_watch *watch, uint64_t deadline_ms)
{
    for (;;) {
        struct pollfd entries[] = {
            {.fd = command->pidfd, .events = POLLIN},
            {.fd = command->output, .events = POLLIN},
            {.fd = watch->control, .events = POLLIN},
            {.fd = watch->host, .events = POLLIN},
        };
        int ready = poll(entries, COUNT_OF(entries), deadline_poll_timeout(deadline_ms));
        if (ready < 0 && errno != EINTR)
            return SECRET_OUTCOME_FAULT;
        if (ready == 0)
            return SECRET_OUTCOME_TIMEOUT;
        if (ready < 0)
            continue;
        if (entries[2].revents != 0 || entries[3].revents != 0)
            return SECRET_OUTCOME_FAULT;
        if (!read_output(command))
            return SECRET_OUTCOME_TOO_LARGE;
        if (entries[0].revents != 0)
            return read_output(command) ? SECRET_OUTCOME_VALUE : SECRET_OUTCOME_TOO_LARGE;
    }
}

/* Their pids are no other processes', because only this process reaps them. */
static void kill_children(void)
{
    int pid;
    FILE *children = fopen("/proc/thread-self/children", "re");
    while (children && fscanf(children, "%d", &pid) == 1 && pid > 0)
        (void)kill(pid, SIGKILL);
    if (children)
        (void)fclose(children);
}

/* The command and all processes that it has started, also those that it left behind. */
static void kill_all(void)
{
    uint64_t deadline_ms = monotonic_ms() + KILL_LIMIT_MS;
    pid_t ended;
    do {
        kill_children();
        do
            ended = waitpid(-1, NULL, WNOHANG);
        while (ended > 0);
        if (ended == 0)
            (void)poll(NULL, 0, KILL_PAUSE_MS);
    } while (ended == 0 && monotonic_ms() < deadline_ms);
}

/* Of a command that has ended by itself. */
static struct secret_reply reply_of(const struct command *command)
{
    siginfo_t end;
    if (waitid(P_PIDFD, (id_t)command->pidfd, &end, WEXITED) < 0)
        return (struct secret_reply){SECRET_OUTCOME_FAULT, .detail = (uint32_t)errno};
    if (end.si_code != CLD_EXITED)
        return (struct secret_reply){SECRET_OUTCOME_SIGNAL, .detail = (uint32_t)end.si_status};
    if (end.si_status != 0)
        return (struct secret_reply){SECRET_OUTCOME_STATUS, .detail = (uint32_t)end.si_status};
    return (struct secret_reply){SECRET_OUTCOME_VALUE, .length = command->length};
}

void command_run(const struct secret_order *order, const struct command_watch *watch,
                 unsigned char *bytes, size_t capacity, struct secret_reply *ret)
{
    struct command command = {.pidfd = -1, .output = -1, .bytes = bytes, .capacity = capacity};
    uint64_t deadline_ms = monotonic_ms() + order->timeout_ms;
    *ret = (struct secret_reply){.outcome = SECRET_OUTCOME_FAULT};
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        ret->detail = (uint32_t)errno;
        return;
    }
    int error_number = start_command(order, &command);
    if (error_number == 0) {
        ret->outcome = follow_command(&command, watch, deadline_ms);
        if (ret->outcome == SECRET_OUTCOME_VALUE)
            *ret = reply_of(&command);
    } else {
        *ret = (struct secret_reply){.outcome = SECRET_OUTCOME_NOT_STARTED,
                                     .detail = (uint32_t)error_number};
    }
    kill_all();
    close_fd(command.pidfd);
    close_fd(command.output);
}
