/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork server's own side: an interpreter that is copied into sandboxes. The supervisor's side
 * is backends/process/supervisor/fork_server/. Runs inside the interpreter, which has one thread
 * and has run no program.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/sandbox/sandbox.h"

/* Serves copies until the supervisor ends. Returns in each copy: the payload of a sandbox (*ret)
 * with every layer that needs no run. In the original before is called ahead of each fork, and
 * after behind it; rehearse once, ahead of the first one: where it returns true, in a child, this
 * function returns as well, without a sandbox. left_out: the names of modules
 * that could not be used, for people. */
struct fork_server_calls {
    bool (*rehearse)(void);
    void (*before)(void);
    void (*after)(void);
    void (*begin_copy)(int supervisor); /* in the copy: begin_payload of sandbox_init() */
};
void fork_server_serve(const char *left_out, const struct fork_server_calls *calls,
                       struct sandbox *ret);

/* Tells the supervisor that this interpreter cannot be copied, and why ("NAME DETAIL" of
 * preparation_outcome.h), and exits. */
_Noreturn void fork_server_refuse(const char *why);
