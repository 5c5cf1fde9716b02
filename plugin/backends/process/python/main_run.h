/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the program in Python's place, as Python's own main would run it (Modules/main.c and
 * Python/pythonrun.c of CPython): the same module __main__, no frame around it, the same traceback
 * and status. So the exit status is known before the end begins (short_end.h), and the value of the
 * last expression can be told (results.py). What it does not know how to run alike is left to
 * Python: a program that does not compile, an exit with a text. Runs inside an interpreter of ours,
 * in its main thread.
 */
#pragma once

#include "backends/process/python/python_abi.h"

/* From sitecustomize. functions: a tuple (load, tell). load() is called once there is no frame
 * left; it returns the program's code, or None for Python to run it, or for a session the functions
 * of session_loop.h. tell(value, exception) is called when code has been executed, with None for
 * what there is not. */
void main_run_arm(PyObject *functions);

enum main_run_kind { MAIN_RUN_PROGRAM, MAIN_RUN_CELL };
/* Behind the execution of code in the module with these names: flushes, tells the results, prints
 * the exception. result: taken; of code that is one expression its value, of all else None; NULL
 * with an exception set, which is then gone. Returns the status. Of a program, some exceptions end
 * the process here. */
int main_run_finish(PyObject *result, PyObject *names, enum main_run_kind kind);
