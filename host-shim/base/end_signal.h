/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP as a readable descriptor. Handlers, not blocked or ignored signals:
 * those the provider's children would inherit. Main thread; the handler on any.
 */
#pragma once

#include <stdbool.h>

#include "base/failure.h"

/* *ret_fd becomes readable when one has come; it stays the module's. */
bool end_signal_watch(int *ret_fd, struct failure *failure);
/* Has one other than SIGINT come since then? Any thread. */
bool end_signal_is_final(void);
/* SIGPIPE does nothing from now on. */
void end_signal_ignore_pipe(void);
/* From now on the signals end the process again. Any thread. */
void end_signal_restore(void);
/* Restores and closes the descriptor. */
void end_signal_end(void);
