/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What session.js needs of C: taking cells while Node's event loop goes on, and stopping code that
 * executes. Runs inside the interpreter of a session. One thread of ours waits there, and touches
 * nothing of Node but the queue to its main thread.
 */
#pragma once

#include "interpreter/node/node_api.h"

/* Gives an object of JavaScript these functions; false: that failed.
 * - begin(onCell, onInterrupt, onSoon, onEvaluated, unwind) is true where this run is a session.
 *   Each cell is then onCell(code, arguments, variables, lasting, failure): lasting says how many
 *   of the last variables stay. The function that it returns, where it returns one, is called next,
 *   and then onEvaluated(). unwind() is called on top of code that is to be interrupted, and is
 *   true where that may be done; onInterrupt() once it has been, or where there was no code.
 * - guard(true) keeps interruptions away from code of ours, until guard(false). It returns what
 *   held before.
 * - hear() makes SIGINT an interruption, until somebody else listens to it.
 * - callSoon() calls onSoon() once what the event loop is at has ended.
 * - stop() ends the code that executes, with no way to catch it, and then calls onSoon(). false:
 *   this Node has no way to.
 * - end(text) ends the cell with that JSON. */
bool session_cells_export(napi_env environment, napi_value object);
