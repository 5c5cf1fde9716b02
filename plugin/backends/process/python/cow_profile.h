/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of ours that a throw-away child of the original runs and ends, as a copy would: what it
 * writes to is what copies will write to. Runs inside the interpreter, in its one thread.
 */
#pragma once

#include "backends/process/python/python_abi.h"

/* Calls it in the child. Whatever goes wrong, nothing is learnt then. */
void cow_profile_run(PyObject *program);
