/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side of an interpreter that is copied; the other is interpreter_parent.h. Runs inside the
 * interpreter, which has one thread and has run no program.
 */
#pragma once

#include "backends/process/sandbox/sandbox.h"

/* See run_taker_serve_copies(); *ret is the sandbox of the copy. */
void copies_serve(const char *left_out, void (*before)(void), void (*after)(void),
                  struct sandbox *ret);

/* why: "NAME DETAIL" of preparation_outcome.h */
_Noreturn void copies_refuse(const char *why);
