/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the cells of a session in the place of a program: no frame of ours is around one. A cell
 * that has ended by an exception or by exit() has ended; the session goes on. Runs inside an
 * interpreter of ours, in its main thread.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/python/python_abi.h"

/* Is this run a session? Then its socket of cells is taken over from descriptor 0. Asked once the
 * run is there. */
bool session_loop_prepare(void);

/* For session.py: (code, [argument, ...], [b"NAME=value", ...], failure, b"checkpoint.h's word"),
 * or None; or 1: this is a new branch of the session, and there is no cell yet. Waits. The last
 * one is b"" where the session has no checkpoints. */
PyObject *session_loop_take(PyObject *self, PyObject *arguments);

/* functions: a tuple (begin_cell, await_result, end_cell) of session.py. Returns at the end of the
 * session, with the status for exit(3), also in a child that a cell has forked. */
int session_loop_run(PyObject *functions);
