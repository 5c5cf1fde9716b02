/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a copied Python. Threads are waited for and what is registered with atexit is called,
 * as in every end. Where nothing is left that would do or say anything in the rest of
 * Py_FinalizeEx(), the process exits: taking all modules apart takes longer than most programs run,
 * and writes to most of the memory that copies share. Otherwise Py_FinalizeEx() does the rest.
 * Runs inside the interpreter, in its main thread.
 */
#pragma once

/* In the original, once every module is there that is meant to be. */
void short_end_prepare(void);

/* In the copy, without an exception. Returns the status for exit(3), which is all that may follow.
 */
int short_end(int status);
