/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork server's own side: an interpreter that is copied into sandboxes. The supervisor's side
 * is backends/process/supervisor/fork_server/. Runs inside the interpreter, which has one thread
 * and has run no program.
 */
#pragma once

#include "backends/process/sandbox/sandbox.h"

/* See run_taker_serve_forks(); *ret is the sandbox of the copy. */
void fork_server_serve(const char *left_out, void (*before)(void), void (*after)(void),
                       struct sandbox *ret);

/* why: "NAME DETAIL" of preparation_outcome.h */
_Noreturn void fork_server_refuse(const char *why);
