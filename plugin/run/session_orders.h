/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway orders of a session's backend beside its cells, and the events that answer
 * (protocol/session.h). Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/checkpoint.h"
#include "protocol/run_event.h"
#include "protocol/session.h"
#include "run/session_run.h"

/* For the backend to undo a cell: more than it gives its sandbox. */
#define SESSION_RESTORE_LIMIT_MS 12000

/* A backend that is gone is seen on the socket. */
void session_run_order(const struct session_run *session, struct session_order order);

/* What is there now. false: the backend is gone, or has said nothing that can be read. */
bool session_run_receive(int events, bool *ret_there, struct run_event *ret);

/* true and *ret: the event, or ENDED. cancel_fd: -1 where it must be waited for. */
bool session_run_await(struct session_run *session, enum run_event_type wanted, int cancel_fd,
                       uint64_t deadline_ms, struct run_event *ret, struct error *error);

/* Its backend is gone: error, and false. */
bool session_run_fail_lost(const struct session_run *session, struct error *error);

/* Has it ended since its last cell? Then *ret has its end: of a backend that is gone, with cause
 * INFRASTRUCTURE. */
bool session_run_has_ended(struct session_run *session, struct run_event *ret);

/* Back to before its last cells, of which nothing is read any more. false with
 * CHECKPOINT_UNAVAILABLE: it is as it was; or with another error: it is lost. */
bool session_run_undo(struct session_run *session, uint64_t cells, struct error *error);

/* A copy of what runs sleeps as that branch. true: *ret_word is CHECKPOINT_TAKEN, or why it is as
 * it was. false with error: it is lost. */
bool session_run_park(struct session_run *session, uint32_t branch, enum checkpoint_word *ret_word,
                      struct error *error);

/* That branch runs in the place of what does. true: *ret_awake; false there: its copy is dead, and
 * the rest as it was. false with error: it is lost. */
bool session_run_wake(struct session_run *session, uint32_t branch, bool *ret_awake,
                      struct error *error);

/* That branch ends, or with SESSION_BRANCH_AWAKE the one that runs. */
void session_run_drop(const struct session_run *session, uint32_t branch);
