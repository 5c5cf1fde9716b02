/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the loop of a run: see guest_relay.h. Runs in the guest. */
#include "guest/guest_relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/channels/guest_endpoints.h"
#include "guest/channels/guest_tools.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_time.h"
#include "guest/session/guest_session.h"

enum {
    CHILDREN,
    BACKEND,
    BUFFER,
    OUTPUTS,
    LATE = OUTPUTS + PROGRAM_OUTPUTS,
    ANSWERS = LATE + SESSION_LATE,
    LISTENER,
    CONNECTIONS,
    WATCHED
};

static const enum guest_kind kinds[PROGRAM_OUTPUTS] = {[PROGRAM_STDOUT] = GUEST_STDOUT,
                                                       [PROGRAM_STDERR] = GUEST_STDERR,
                                                       [PROGRAM_RESULTS] = GUEST_RESULTS};

/* Reaps whatever has ended; flags: those of waitpid(2). true: the program's first process was among
 * it, or that of another interpreter of the session. */
static bool reap(pid_t program, const struct guest_session *session, int flags,
                 uint32_t *ret_status)
{
    bool ended = false;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, flags);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0)
            return ended;
        if (pid != program && !(session && session_has(session, pid)))
            continue;
        ended = true;
        *ret_status = (uint32_t)status;
    }
}

/* As the first process of its namespace, the guest reaches every other one, and none can fork away
 * from it: kill(2) holds the list of processes. */
static void kill_tree(void)
{
    uint32_t ignored;
    (void)kill(-1, SIGKILL);
    (void)reap(-1, NULL, 0, &ignored);
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static void note_usage(struct guest_end *end)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
        end->user_us = microseconds(&usage.ru_utime);
        end->system_us = microseconds(&usage.ru_stime);
        end->peak_memory_bytes = (uint64_t)usage.ru_maxrss * 1024;
    }
}

static void watch(struct pollfd ready[WATCHED], const struct guest_program *program,
                  const struct guest_session *session, int children)
{
    bool room = output_has_room();
    ready[CHILDREN] = (struct pollfd){.fd = children, .events = POLLIN};
    /* Behind the program's end, only that of the connection is of interest. */
    ready[BACKEND] = (struct pollfd){.fd = STDIN_FILENO, .events = children < 0 ? 0 : POLLIN};
    ready[BUFFER] =
        (struct pollfd){.fd = output_is_empty() ? -1 : STDOUT_FILENO, .events = POLLOUT};
    for (size_t i = 0; i < PROGRAM_OUTPUTS; i++)
        ready[OUTPUTS + i] =
            (struct pollfd){.fd = room ? program->outputs[i] : -1, .events = POLLIN};
    for (size_t i = 0; i < SESSION_LATE; i++)
        ready[LATE + i] = (struct pollfd){.fd = room ? session->late[i] : -1, .events = POLLIN};
    ready[ANSWERS] =
        (struct pollfd){.fd = children < 0 ? -1 : tools_blocked_socket(), .events = POLLOUT};
    ready[LISTENER] =
        (struct pollfd){.fd = children < 0 ? -1 : endpoints_listener(), .events = POLLIN};
    ready[CONNECTIONS] =
        (struct pollfd){.fd = children < 0 ? -1 : endpoints_events(), .events = POLLIN};
}

/* Reads once what is there. */
static void pass_stream_on(int *fd, enum guest_kind kind)
{
    if (*fd < 0 || !output_has_room())
        return;
    ssize_t count = output_read(*fd, kind);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        close_fd(TAKE_FD(*fd));
}

/* Of a session the end of a cell is among the results, and all that was printed ahead of it goes
 * ahead of it. So the results are read first. */
static void pass_results_on(struct guest_program *program)
{
    static unsigned char results[GUEST_DATA_LIMIT];
    ssize_t count = read(program->outputs[PROGRAM_RESULTS], results, sizeof(results));
    for (size_t i = 0; i < PROGRAM_RESULTS; i++)
        pass_stream_on(&program->outputs[i], kinds[i]);
    if (count > 0)
        output_put(GUEST_RESULTS, results, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(TAKE_FD(program->outputs[PROGRAM_RESULTS]));
}

static void pass_session_on(struct guest_program *program, struct guest_session *session,
                            const struct pollfd ready[WATCHED])
{
    static const enum guest_kind late[SESSION_LATE] = {GUEST_LATE_STDOUT, GUEST_LATE_STDERR};
    for (size_t i = 0; i < SESSION_LATE; i++)
        if (ready[LATE + i].fd >= 0 && ready[LATE + i].fd == session->late[i] &&
            ready[LATE + i].revents)
            pass_stream_on(&session->late[i], late[i]);
    if (ready[OUTPUTS + PROGRAM_RESULTS].revents && output_has_room_for_three())
        pass_results_on(program);
    else
        for (size_t i = 0; i < PROGRAM_RESULTS; i++)
            if (ready[OUTPUTS + i].revents)
                pass_stream_on(&program->outputs[i], kinds[i]);
}

static void pass_on(struct guest_program *program, const struct pollfd ready[WATCHED])
{
    for (size_t i = 0; i < PROGRAM_OUTPUTS; i++) {
        if (ready[OUTPUTS + i].fd < 0 || !ready[OUTPUTS + i].revents || !output_has_room())
            continue;
        pass_stream_on(&program->outputs[i], kinds[i]);
    }
}

static bool has_outputs(const struct guest_program *program)
{
    for (size_t i = 0; i < PROGRAM_OUTPUTS; i++)
        if (program->outputs[i] >= 0)
            return true;
    return false;
}

/* The session's interpreter has ended, and another one goes on from before its cell. */
static bool is_undone(struct guest_program *program, struct guest_session *session,
                      const struct guest_end *end)
{
    if (!session->has_cell || !session_restore(session, program, 1))
        return false;
    session->restored.wait_status = end->wait_status;
    return true;
}

/* Behind all that the undone cell has printed, whose processes are dead. */
static void tell_restored(struct guest_program *program, struct guest_session *session)
{
    unsigned char bytes[sizeof(session->restored)];
    struct wire_writer writer = {.bytes = bytes, .capacity = sizeof(bytes), .limit = sizeof(bytes)};
    if (!session->is_restored || has_outputs(program))
        return;
    session->is_restored = false;
    note_usage(&session->restored);
    guest_end_write(&writer, &session->restored);
    output_put(GUEST_RESTORED, writer.bytes, writer.length);
}

static bool take_end(struct guest_program *program, struct guest_session *session, int children,
                     struct guest_end *end)
{
    struct signalfd_siginfo signals[8];
    while (read(children, signals, sizeof(signals)) > 0)
        ;
    if (!reap(program->pid, session, WNOHANG, &end->wait_status) ||
        is_undone(program, session, end))
        return false;
    kill_tree();
    note_usage(end);
    return true;
}

/* Nothing else may come on that connection, and nobody but the backend has its other end. true: the
 * backend orders the end. */
static bool take_order_of_run(void)
{
    char order = '\0';
    if (tools_are_coming()) {
        tools_take_more();
        return false;
    }
    if (endpoints_are_coming()) {
        endpoints_take_more();
        return false;
    }
    if (read(STDIN_FILENO, &order, sizeof(order)) != sizeof(order))
        return false;
    if (order == GUEST_ORDER_ANSWERS)
        tools_take_order();
    else if (order == GUEST_ORDER_ENDPOINTS)
        endpoints_take_order();
    else if (order == GUEST_ORDER_MEASURE)
        time_ask();
    return order == GUEST_ORDER_END;
}

static bool take_order(struct guest_program *program, struct guest_session *session,
                       struct guest_end *end)
{
    if (session->count > 0 ? !session_take_order(session, program) : !take_order_of_run())
        return false;
    kill_tree();
    end->wait_status = SIGKILL;
    note_usage(end);
    return true;
}

/* Ahead of the program's next output, which would take the room. */
static void answer_backend(void)
{
    time_answer();
    tools_flush();
    tools_tell_taken();
}

struct guest_end relay_until_end(struct guest_program *program, struct guest_session *session,
                                 int children, bool *ret_ordered)
{
    struct guest_end end = {.wait_status = 0};
    bool ended = false;
    *ret_ordered = false;
    while (!ended || has_outputs(program)) {
        struct pollfd ready[WATCHED];
        watch(ready, program, session, ended ? -1 : children);
        if (poll(ready, COUNT_OF(ready), -1) < 0 && errno != EINTR)
            _exit(1);
        if (ready[BACKEND].revents & (POLLHUP | POLLERR))
            _exit(1);
        if (ready[CHILDREN].revents && take_end(program, session, children, &end))
            ended = true;
        else if ((ready[BACKEND].revents & POLLIN) && take_order(program, session, &end))
            ended = *ret_ordered = true;
        if (!ended)
            answer_backend();
        if (!ended && (ready[LISTENER].revents || ready[CONNECTIONS].revents))
            endpoints_serve();
        if (ended)
            endpoints_close();
        if (session->count > 0)
            pass_session_on(program, session, ready);
        else
            pass_on(program, ready);
        if (!ended)
            tell_restored(program, session);
        endpoints_flush();
        output_flush();
    }
    return end;
}
