/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions that ask the supervisor for something and for which nothing is run. Runs in the
 * supervisor.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/supervisor/pool/pool.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

/* false: it is a run. true: *ret is the end that answers it. */
bool run_question_answer(const struct run_description *description, struct pool *pool,
                         struct run_event *ret);
