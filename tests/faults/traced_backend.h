/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend under the injector, and runs of the inspector in it, whose tracees are served while it
 * waits. Complains where one gives no answer. Single-threaded.
 */
#pragma once

#include <stdbool.h>

#include "../process/backend/harness.h"
#include "injector.h"
#include "left_files.h"
#include "protocol/run_event.h"

struct answer {
    bool started;
    bool ended;
    bool late;
    struct run_event start;
    struct run_event end;
    char output[8192];
    struct left_files files;
    bool broker_listens; /* the broker of its endpoints was given the listener */
};

extern struct backend traced_backend; /* control: -1 where there is none */

/* At the beginning: takes SIGCHLD, which ends its waits. */
void traced_backend_init(void);
/* The program at CODE_EXECUTE_PROCESS. false: it has ended before it said hello. */
bool traced_backend_start(const struct fault *start_fault);
void traced_backend_stop(void);
bool traced_backend_has_ended(void);
/* Until that is so. false: it is not for so many seconds. */
bool traced_serve_until(bool (*is_done)(void), double seconds);
/* One run of the inspector; the backend may be gone afterwards. */
void traced_run(const struct fault *run_fault, struct answer *answer);
