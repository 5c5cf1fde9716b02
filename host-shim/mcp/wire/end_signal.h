/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP as a readable descriptor for the main thread's poll(), and SIGPIPE as
 * nothing at all. Handlers, not blocked or ignored signals: those the provider's children would
 * inherit. Main thread; the handler on any.
 */
#pragma once

#include <stdbool.h>

#include "base/failure.h"

/* *ret_fd becomes readable when one has come. */
bool end_signal_watch(int *ret_fd, struct failure *failure);
