/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the program in Python's place, as Python's own main would run it (Modules/main.c and
 * Python/pythonrun.c of CPython): the same module __main__, no frame around it, the same traceback
 * and status. So the exit status is known before the end begins (short_end.h). What it does not
 * know how to run alike is left to Python: a program that does not compile, an exit with a text,
 * Python before 3.10. Runs inside a copied interpreter, in its main thread.
 */
#pragma once

#include "backends/process/python/python_abi.h"

/* From sitecustomize, before the run is waited for. load: called once there is no frame left;
 * returns the program's code, or None for Python to run it. */
void main_run_arm(PyObject *load);
