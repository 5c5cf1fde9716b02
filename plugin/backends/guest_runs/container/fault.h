/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem with the engine or the cluster: its kind and a message. The provider has the error code
 * and the remedy of each kind, and kinds of its own (provider.h). Fixed buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The kinds that every provider has; its own begin behind them. */
enum fault_kind { FAULT_NONE = 0, FAULT_SILENT, FAULT_ALTERED, FAULT_KINDS };

#define ENGINE_MESSAGE_LIMIT 250

struct engine_fault {
    unsigned int problem; /* FAULT_SILENT: no answer in time, or a broken one; FAULT_ALTERED: the
                             container is not the one that was asked for */
    char message[ENGINE_MESSAGE_LIMIT];
    uint64_t retry_after_ms; /* 0: not known */
};

/* Fills the fault, without a time; false, for the caller to return. */
bool engine_fault_set(struct engine_fault *fault, unsigned int problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
