/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker of endpoints (code-execute-egress) from the gateway's side: one program for all runs,
 * found beside the .so, started by the first run that needs it, ended with the gateway. A run is
 * registered with what it may reach and the credentials, which are wiped at its end. A session is
 * registered for its life, and each of its cells within that. The gateway keeps two descriptors of
 * the program and one a run, all CLOEXEC. Any thread; the mutex is held while the program starts.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "endpoints/network_log.h"
#include "protocol/orders/egress_order.h"

/* The gateway's ends of one run's registration. */
struct broker_run {
    int events; /* SOCK_SEQPACKET: struct egress_event in; closing it ends the registration */
    int intake; /* for the run's backend, which hands the sandbox's listener on through it */
    uint64_t generation; /* of the program that has it */
};

#define BROKER_RUN_NONE             \
    {                               \
        .events = -1, .intake = -1, \
    }

/* Is the program there? false with BACKEND_UNAVAILABLE. Starts nothing. */
bool broker_exists(struct error *error);

/* A sealed memory file of the order, with its credentials; -1 with OUT_OF_MEMORY or an error of
 * the file. */
int broker_order_seal(const struct egress_order *order, struct error *error);

/* Registers a run, and waits until the broker has taken it. true and *ret (broker_run_close());
 * false with BACKEND_UNAVAILABLE, BACKEND_FAILED, OUT_OF_MEMORY or CANCELLED. cancel_fd: readable
 * when the call is cancelled, or -1. */
bool broker_register(const struct egress_order *order, int cancel_fd, struct broker_run *ret,
                     struct error *error);

/* Ends the registration behind the run's end, and takes down what the run has done. A broker that
 * has died or does not answer within two seconds leaves the log incomplete. */
void broker_end(struct broker_run *run, struct network_log *log);

/* Of a session: what that order allows can be reached from now on. order: broker_order_seal(). On
 * failure nothing can be reached in the session any more, and it is as broker_register(). Nobody
 * cancels it, as that would cost the session its endpoints. */
bool broker_begin_cell(struct broker_run *run, int order, struct error *error);
/* Ends that. As broker_end() for the log; where it is incomplete, the session's registration is
 * closed. */
void broker_end_cell(struct broker_run *run, struct network_log *log);

/* Ends it without a log. An empty one is fine. */
void broker_run_close(struct broker_run *run);
/* In a child of fork(): closes its copies, and ends nothing. */
void broker_run_forget(struct broker_run *run);

/* Ends the program with all registrations, and waits until it is gone (killed after 5 s). */
void broker_stop(void);

/* In a child of fork(): closes its copies of the parent's descriptors, which ends nothing, and
 * takes no lock. */
void broker_after_fork(void);
