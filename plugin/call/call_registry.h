/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls under way: tool_cancel() finds them by call id, tool_shutdown() ends them and waits for
 * them. Their number is bounded where they wait: in their approval (approval.h), in the queue and
 * in the run (admission.h). Any thread. A registered call's cancellation is an eventfd, so that it
 * can be polled beside the run's output.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct registered_call {
    struct registered_call *next;
    uint64_t call_id;
    int cancel_fd; /* becomes readable, and stays so, when the call is cancelled */
    atomic_bool cancelled;
    bool is_in_callback; /* its thread is inside the host's call_tool, ... */
    pthread_t thread;    /* ... and this is the thread */
};

/* Counts the call in and fills *call, which must stay where it is until call_unregister(). false
 * with CANCELLED (the provider is shutting down) or INTERNAL. */
bool call_register(struct registered_call *call, uint64_t call_id, struct error *error);
void call_unregister(struct registered_call *call);

/* tool_cancel(): was there such a call? Id 0 finds none. */
bool call_cancel(uint64_t call_id);

/* The same for one of which only the place is known; it need not be there any more. It wakes nobody
 * that waits without polling: call_wake_cancelled() does, without any lock. */
void call_cancel_one(const struct registered_call *call);
void call_wake_cancelled(void);

/* The calling thread, whose call this is, enters the host's call_tool, or has left it. */
void call_note_callback(struct registered_call *call, bool is_inside);
/* Is the calling thread inside a call_tool? Then its next call must not wait for the place of the
 * one around it. */
bool call_is_nested(void);

/* Cancels every call, keeps new ones out, and waits until none is left. */
void call_cancel_all_and_wait(void);
/* Lets calls in again, once for each call_cancel_all_and_wait(). */
void call_admit_again(void);

uint64_t call_count(void);

/* In a child of fork(): the calls under way are the parent's. Takes no lock. */
void call_registry_after_fork(void);
