/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong with the engine: the kind for the plugin, the words for people. Fixed buffers,
 * any place in the docker backend.
 */
#pragma once

#include "protocol/run_event.h"

#define ENGINE_MESSAGE_LIMIT 250

struct engine_fault {
    enum engine_problem problem;
    char message[ENGINE_MESSAGE_LIMIT];
};

/* Fills the fault. */
void engine_fault_set(struct engine_fault *fault, enum engine_problem problem, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
