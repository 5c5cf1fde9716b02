/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to a session's backend: see session_orders.h. */
#include "run/session_orders.h"

#include <errno.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "protocol/channel.h"

/* For the backend to put a branch to sleep: more than it gives its sandbox. */
#define PARK_LIMIT_MS 14000

void session_run_order(const struct session_run *session, struct session_order order)
{
    (void)channel_send(session->backend.events, &order, sizeof(order), NULL,
                       0); /* its death is seen on the socket */
}

bool session_run_receive(int events, bool *ret_there, struct run_event *ret)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    ssize_t length = channel_receive_now(events, message, sizeof(message));
    *ret_there = false;
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    *ret_there = length > 0 && run_event_decode(message, (size_t)length, ret);
    return *ret_there;
}

bool session_run_fail_lost(const struct session_run *session, struct error *error)
{
    backend_note_end(session->mode, &session->backend);
    error_set(error, ERROR_BACKEND_FAILED, "the backend ended, and the session with it");
    return false;
}

bool session_run_await(struct session_run *session, enum run_event_type wanted, int cancel_fd,
                       uint64_t deadline_ms, struct run_event *ret, struct error *error)
{
    for (;;) {
        struct pollfd entries[] = {{.fd = session->backend.events, .events = POLLIN},
                                   {.fd = cancel_fd, .events = POLLIN}};
        bool is_there = false;
        int ready = poll(entries, COUNT_OF(entries), deadline_poll_timeout(deadline_ms));
        if (ready > 0 && entries[0].revents != 0 &&
            !session_run_receive(session->backend.events, &is_there, ret))
            return session_run_fail_lost(session, error);
        if (is_there && (ret->type == wanted || ret->type == RUN_EVENT_ENDED))
            return true;
        if (ready > 0 && entries[1].revents != 0) {
            error_set(error, ERROR_CANCELLED, "cancelled before the session began");
            return false;
        }
        if (monotonic_ms() >= deadline_ms) {
            backend_give_up(session->mode, &session->backend);
            error_set(error, ERROR_BACKEND_FAILED, "the backend did not answer in time");
            return false;
        }
    }
}

bool session_run_has_ended(struct session_run *session, struct run_event *ret)
{
    bool is_there;
    do {
        if (!session_run_receive(session->backend.events, &is_there, ret)) {
            *ret = (struct run_event){.type = RUN_EVENT_ENDED, .cause = RUN_CAUSE_INFRASTRUCTURE};
            return true;
        }
        /* Back to before a cell that its caller has seen complete: nobody would expect that. */
    } while (is_there && ret->type != RUN_EVENT_ENDED && ret->type != RUN_EVENT_RESTORED);
    return is_there;
}

bool session_run_undo(struct session_run *session, uint64_t cells, struct error *error)
{
    struct run_event event;
    session_run_order(session,
                      (struct session_order){.kind = SESSION_ORDER_UNDO, .cells = (uint32_t)cells});
    if (!session_run_await(session, RUN_EVENT_RESTORED, -1,
                           monotonic_ms() + SESSION_RESTORE_LIMIT_MS, &event, error))
        return false;
    if (event.type == RUN_EVENT_ENDED) {
        error_set(error, ERROR_SESSION_LOST, "the session ended as cells of it were undone");
        return false;
    }
    if (event.failure != RUN_FAILURE_NONE) {
        error_set(error, ERROR_CHECKPOINT_UNAVAILABLE,
                  "the session has no checkpoint of before the cells to undo");
        return false;
    }
    session_run_close_late(session);
    return true;
}

bool session_run_park(struct session_run *session, uint32_t branch, enum checkpoint_word *ret_word,
                      struct error *error)
{
    const char kind = SESSION_PARK;
    struct run_event event;
    session_run_order(session,
                      (struct session_order){.kind = SESSION_ORDER_PARK, .branch = branch});
    (void)channel_send(session->cells[0], &kind, sizeof(kind), NULL, 0); /* its end is an event */
    if (!session_run_await(session, RUN_EVENT_PARKED, -1, monotonic_ms() + PARK_LIMIT_MS, &event,
                           error))
        return false;
    if (event.type == RUN_EVENT_ENDED) {
        error_set(error, ERROR_SESSION_LOST, "the session ended as a copy of it was made");
        return false;
    }
    enum checkpoint_word why = checkpoint_word_named(event.message);
    bool has_reason = why != CHECKPOINT_TAKEN && why != CHECKPOINT_WORD_COUNT;
    *ret_word = has_reason ? why : CHECKPOINT_REFUSED;
    if (event.failure == RUN_FAILURE_NONE)
        *ret_word = CHECKPOINT_TAKEN;
    return true;
}

bool session_run_wake(struct session_run *session, uint32_t branch, bool *ret_awake,
                      struct error *error)
{
    struct run_event event;
    session_run_order(session,
                      (struct session_order){.kind = SESSION_ORDER_WAKE, .branch = branch});
    if (!session_run_await(session, RUN_EVENT_RESTORED, -1,
                           monotonic_ms() + SESSION_RESTORE_LIMIT_MS, &event, error))
        return false;
    if (event.type == RUN_EVENT_ENDED) {
        error_set(error, ERROR_SESSION_LOST, "the session ended as a branch of it was woken");
        return false;
    }
    *ret_awake = event.failure == RUN_FAILURE_NONE;
    if (*ret_awake)
        session_run_close_late(session);
    return true;
}

void session_run_drop(const struct session_run *session, uint32_t branch)
{
    session_run_order(session,
                      (struct session_order){.kind = SESSION_ORDER_DROP, .branch = branch});
}
