/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rehearsal of a run: a throw-away child of an interpreter that is to be copied goes the way of
 * a copy from its run to its end, and tells which pages it has written to. Copies make these their
 * own ahead of their run (copy_on_write.h). It is in no sandbox, so it executes nothing but our own
 * code (waiting.py). Runs inside the interpreter, in its one thread.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/sandbox/sandbox.h"

/* In the original. true in the child; in the original false, once the child has told its pages or
 * has failed. After any failure nothing has been learnt. */
bool rehearsal_begin(void);

/* Is this process the child? */
bool rehearsal_is_on(void);

/* In the child: takes a run of its own making, as a copy takes one. Descriptor 3 is its program
 * then, as Python's main has it. */
void rehearsal_take_run(struct taken_run *ret);

/* In the child, where it writes nothing more: tells its pages, and ends. */
_Noreturn void rehearsal_end(void);
