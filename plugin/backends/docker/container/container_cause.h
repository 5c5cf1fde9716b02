/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a container ended, from what the engine says of it. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_event.h"

struct container_end {
    int64_t status; /* the engine's: an exit code, or 128 + signal */
    bool memory_killed;
};

/* Fills cause, exit_code and signal of the event. An engine tells a program that exits with 137
 * from one that was killed no better than a shell does: a code that a signal gives is taken for
 * that signal. */
void container_cause_decide(const struct container_end *end, struct run_event *event);
