/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program to its end within bounds of time and output. The caller's thread waits. */
#include "base/bounded_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/signal_mask.h"

struct running {
    pid_t pid; /* 0: none */
    bool has_group;
    int pidfd;
    int output; /* non-blocking; -1 at its end */
    size_t capacity;
    struct program_result *result;
};

/* The group is killed while its number is still ours: the leader is reaped last. */
static void running_end(struct running *running)
{
    if (running->pid > 0) {
        if (running->has_group)
            (void)kill(-running->pid, SIGKILL);
        (void)kill(running->pid, SIGKILL);
        while (waitpid(running->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_fd(running->pidfd);
    close_fd(running->output);
}

static bool end_with(struct program_result *result, enum program_end end, int number)
{
    result->end = end;
    result->number = number;
    return false;
}

static int spawn_program(const struct bounded_program *program, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0)
        return error;
    (void)posix_spawnattr_init(&attributes);
    /* A program has the terminal only in our process group. */
    spawn_attributes_set(&attributes, !program->at_terminal);
    error = posix_spawn_file_actions_adddup2(&files, program->input, STDIN_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (error == 0 && program->error >= 0)
        error = posix_spawn_file_actions_adddup2(&files, program->error, STDERR_FILENO);
    if (error == 0)
        error =
            posix_spawnp(ret_pid, program->path, &files, &attributes, program->arguments, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return error;
}

static bool start_program(const struct bounded_program *program, struct running *running)
{
    struct program_result *result = running->result;
    int ends[2] = {-1, -1};
    result->output = malloc(program->output_limit + 2);
    running->capacity = program->output_limit + 1;
    running->has_group = !program->at_terminal;
    if (!result->output || (!program->at_terminal && pipe2(ends, O_CLOEXEC) < 0))
        return end_with(result, PROGRAM_NOT_STARTED, errno);
    running->output = ends[0];
    CLEANUP_CLOSE int their_output = ends[1];
    (void)fcntl(running->output, F_SETFL, O_NONBLOCK);
    pid_t pid = 0;
    int error = spawn_program(program, program->at_terminal ? program->input : their_output, &pid);
    if (error != 0)
        return end_with(result, PROGRAM_NOT_STARTED, error);
    running->pid = pid;
    running->pidfd = pidfd_open(pid, 0);
    return running->pidfd >= 0 || end_with(result, PROGRAM_NOT_WATCHED, errno);
}

/* false: it has printed too much. */
static bool take_output(struct running *running)
{
    struct program_result *result = running->result;
    while (running->output >= 0 && result->length < running->capacity) {
        ssize_t got = read(running->output, result->output + result->length,
                           running->capacity - result->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            close_fd(TAKE_FD(running->output));
            break;
        }
        result->length += (size_t)got;
    }
    return result->length < running->capacity;
}

/* Waits for the program itself, not for children that keep its output open.
 */
static bool wait_for_end(const struct bounded_program *program, struct running *running)
{
    uint64_t deadline = monotonic_ms() + program->wait_ms;
    for (;;) {
        struct pollfd events[] = {{.fd = running->pidfd, .events = POLLIN},
                                  {.fd = program->cancelled_fd, .events = POLLIN},
                                  {.fd = running->output, .events = POLLIN}};
        int ready = poll(events, COUNT_OF(events), deadline_poll_timeout(deadline));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return end_with(running->result, PROGRAM_NOT_WATCHED, errno);
        if (ready == 0)
            return end_with(running->result, PROGRAM_OUT_OF_TIME, 0);
        if (events[1].revents)
            return end_with(running->result, PROGRAM_CANCELLED, 0);
        if (!take_output(running))
            return end_with(running->result, PROGRAM_OUT_OF_BOUNDS, 0);
        if (events[0].revents)
            return true;
    }
}

static void read_end(const struct running *running)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)running->pid, &end, WEXITED | WNOWAIT) < 0)
        (void)end_with(running->result, PROGRAM_NOT_WATCHED, errno);
    else if (end.si_code == CLD_EXITED)
        (void)end_with(running->result, PROGRAM_EXITED, end.si_status);
    else
        (void)end_with(running->result, PROGRAM_SIGNALLED, end.si_status);
}

void bounded_program_run(const struct bounded_program *program, struct program_result *ret)
{
    *ret = (struct program_result){0};
    CLEANUP(running_end)
    struct running running = {.pidfd = -1, .output = -1, .result = ret};
    if (start_program(program, &running) && wait_for_end(program, &running))
        read_end(&running);
    if (ret->output)
        ret->output[ret->length] = '\0';
}

void program_result_clear(struct program_result *result)
{
    free(result->output);
    *result = (struct program_result){0};
}
