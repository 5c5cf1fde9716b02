/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registering runs with the broker of endpoints. Runs in the gateway, on any thread inside
 * tool_invoke() or tool_shutdown().
 */
#include "endpoints/broker_client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "program/backend_program.h"
#include "protocol/channel.h"
#include "protocol/orders/egress_event.h"

#define PROGRAM           "code-execute-egress"
#define REGISTER_LIMIT_MS 10000
#define END_LIMIT_MS      2000

static struct {
    pthread_mutex_t mutex;
    uint64_t generation; /* counts its starts */
    struct backend_program program;
} broker = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .program = BACKEND_PROGRAM_NONE,
};

bool broker_exists(struct error *error)
{
    if (backend_program_exists(PROGRAM))
        return true;
    error_set(error, ERROR_BACKEND_UNAVAILABLE,
              "the program " PROGRAM " is not next to code_execute.so");
    error_set_hint(error, "work without endpoints, or ask the operator to install the program: it "
                          "is built where libcurl and libmicrohttpd are");
    return false;
}

void broker_run_close(struct broker_run *run)
{
    /* A child that the gateway forked may have a copy of the socket, so closing is not enough. */
    if (run->events >= 0)
        (void)shutdown(run->events, SHUT_RDWR);
    broker_run_forget(run);
}

void broker_run_forget(struct broker_run *run)
{
    close_fd(TAKE_FD(run->events));
    close_fd(TAKE_FD(run->intake));
}

static bool make_sockets(int ret_events[2], int ret_intake[2], struct error *error)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_events) == 0 &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_intake) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                    "cannot create a socket for the run's endpoints");
    return false;
}

/* Called with the mutex held. */
static bool ensure_started(struct error *error)
{
    if (backend_program_is_ours(&broker.program))
        return true;
    backend_program_forget(&broker.program);
    broker.generation++;
    return backend_program_start(PROGRAM, &broker.program, error) == 0;
}

/* A broker that died since the last run is started once more; one that dies again is an error. */
static bool send_order(const int fds[EGRESS_FD_COUNT], uint64_t *ret_generation,
                       struct error *error)
{
    HOLD_LOCK(broker.mutex);
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!ensure_started(error))
            return false;
        if (backend_program_order(&broker.program, CONTROL_ENDPOINTS, fds, EGRESS_FD_COUNT) == 0) {
            *ret_generation = broker.generation;
            return true;
        }
        if (errno != EPIPE && errno != ECONNRESET) {
            error_set_errno(error, ERROR_BACKEND_FAILED, errno,
                            "the broker of endpoints does not accept the run");
            return false;
        }
        backend_program_forget(&broker.program);
    }
    error_set(error, ERROR_BACKEND_FAILED, "the broker of endpoints exits as soon as it starts");
    return false;
}

/* One that does not answer would not answer the next call either, which gets another one. */
static void give_up(uint64_t generation)
{
    HOLD_LOCK(broker.mutex);
    if (broker.generation == generation)
        backend_program_kill(&broker.program);
}

enum waiting { WAITING_READABLE, WAITING_CANCELLED, WAITING_OVER };

static enum waiting await_event(int events, int cancel_fd, uint64_t deadline_ms)
{
    for (;;) {
        struct pollfd entries[] = {
            {.fd = events, .events = POLLIN},
            {.fd = cancel_fd, .events = POLLIN},
        };
        int ready = poll(entries, COUNT_OF(entries), deadline_poll_timeout(deadline_ms));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return WAITING_OVER;
        return entries[0].revents != 0 ? WAITING_READABLE : WAITING_CANCELLED;
    }
}

/* false: the broker has closed, or has sent what is no event. */
static bool receive_event(int events, struct egress_event *ret)
{
    unsigned char message[EGRESS_EVENT_MESSAGE_LIMIT];
    ssize_t length = channel_receive_now(events, message, sizeof(message));
    return length > 0 && egress_event_decode(message, (size_t)length, ret);
}

static bool await_ready(int events, int cancel_fd, uint64_t generation, struct error *error)
{
    CLEANUP(egress_event_clear) struct egress_event event = {0};
    switch (await_event(events, cancel_fd, monotonic_ms() + REGISTER_LIMIT_MS)) {
    case WAITING_CANCELLED:
        error_set(error, ERROR_CANCELLED, "cancelled while its endpoints were prepared");
        return false;
    case WAITING_OVER:
        give_up(generation);
        error_set(error, ERROR_BACKEND_FAILED, "the broker of endpoints does not answer");
        return false;
    case WAITING_READABLE:
        break;
    }
    if (!receive_event(events, &event)) {
        error_set(error, ERROR_BACKEND_FAILED, "the broker of endpoints has ended");
        return false;
    }
    if (event.type == EGRESS_EVENT_READY)
        return true;
    error_set(error, ERROR_BACKEND_FAILED, "the broker of endpoints refuses the run: %s",
              event.text ? event.text : "no reason was given");
    return false;
}

int broker_order_seal(const struct egress_order *order, struct error *error)
{
    size_t length = 0;
    unsigned char *message = egress_order_encode(order, &length);
    if (!message) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the run's endpoints");
        return -1;
    }
    int memfd = sealed_message_open("code-execute-endpoints", message, length, error);
    explicit_bzero(message, length);
    free(message);
    return memfd;
}

bool broker_register(const struct egress_order *order, int cancel_fd, struct broker_run *ret,
                     struct error *error)
{
    int events[2] = {-1, -1};
    int intake[2] = {-1, -1};
    CLEANUP_CLOSE int memfd = broker_order_seal(order, error);
    bool made = memfd >= 0 && make_sockets(events, intake, error);
    CLEANUP(broker_run_close)
    struct broker_run run = {.events = events[0], .intake = intake[0]};
    CLEANUP_CLOSE int their_events = events[1];
    CLEANUP_CLOSE int their_intake = intake[1];
    const int fds[EGRESS_FD_COUNT] = {
        [EGRESS_FD_EVENTS] = their_events,
        [EGRESS_FD_ORDER] = memfd,
        [EGRESS_FD_INTAKE] = their_intake,
    };
    if (!made || !send_order(fds, &run.generation, error))
        return false;
    /* Its end is seen only once no copy of the other end is left. */
    close_fd(TAKE_FD(their_events));
    if (!await_ready(run.events, cancel_fd, run.generation, error))
        return false;
    *ret = (struct broker_run){
        .events = TAKE_FD(run.events), .intake = TAKE_FD(run.intake), .generation = run.generation};
    return true;
}

static void take_log(const struct broker_run *run, struct network_log *log)
{
    uint64_t deadline_ms = monotonic_ms() + END_LIMIT_MS;
    while (!log->complete && await_event(run->events, -1, deadline_ms) == WAITING_READABLE) {
        CLEANUP(egress_event_clear) struct egress_event event = {0};
        if (!receive_event(run->events, &event))
            break;
        network_log_take(log, &event);
    }
}

void broker_end(struct broker_run *run, struct network_log *log)
{
    if (run->events >= 0 && shutdown(run->events, SHUT_WR) == 0)
        take_log(run, log);
    broker_run_close(run);
}

/* Its end is seen by who waits for the answer. */
static void send_word(const struct broker_run *run, enum egress_word word, const int *order)
{
    const char byte = (char)word;
    (void)channel_send(run->events, &byte, sizeof(byte), order, order ? 1 : 0);
}

bool broker_begin_cell(struct broker_run *run, int order, struct error *error)
{
    if (run->events < 0) {
        error_set(error, ERROR_BACKEND_FAILED,
                  "the broker of endpoints has ended, and the session's endpoints with it");
    } else {
        send_word(run, EGRESS_WORD_CELL, &order);
        if (await_ready(run->events, -1, run->generation, error))
            return true;
    }
    broker_run_close(run);
    return false;
}

void broker_end_cell(struct broker_run *run, struct network_log *log)
{
    if (run->events < 0)
        return;
    send_word(run, EGRESS_WORD_CELL_ENDED, NULL);
    take_log(run, log);
    if (!log->complete)
        broker_run_close(run);
}

void broker_stop(void)
{
    HOLD_LOCK(broker.mutex);
    backend_program_stop(&broker.program);
}

void broker_after_fork(void)
{
    broker.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    backend_program_forget(&broker.program);
}
