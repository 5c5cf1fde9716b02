/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a copied interpreter shares with its original until it writes to it, page by
 * page. Runs inside the interpreter, in its one thread.
 */
#pragma once

#include "backends/process/python/python_abi.h"

/* In the original: a throw-away child calls the program and ends, as a copy would. What it writes
 * to is what copies will write to. Whatever goes wrong, nothing is learnt then. */
void cow_profile(PyObject *program);

/* In a copy: makes its own what the profiled child has written to (where nothing was learnt, what
 * is writable at all), so that the program need not wait for that. And maps what it will read of
 * files, which takes no memory. Both are bounded. What cannot be done is left to the program. Does
 * nothing where there is something to read from supervisor: a run that would wait. */
void cow_prefault(int supervisor);
