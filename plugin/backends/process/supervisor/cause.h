/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a run ended, from what was seen of it. Pure code, no system call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/run_event.h"

struct run_evidence {
    bool program_ended; /* by itself: wait_status and cpu_us are its own */
    int wait_status;
    uint64_t cpu_us;
    bool killed; /* by us, for kill_cause */
    enum run_cause kill_cause;
    uint64_t memory_kills;
    uint64_t process_refusals;
    uint64_t cpu_limit_ms; /* 0: none */
    bool scratch_full;     /* when the main program had ended */
    /* Where no cgroup counts memory: the peak of the largest process, and the limit of each; else
     * 0. */
    uint64_t process_memory_bytes;
    uint64_t process_memory_limit;
};

/* Fills cause, exit_code and signal of the event. */
void cause_decide(const struct run_evidence *evidence, struct run_event *event);
