/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a copied Python. All that a program has made ends as Python ends it, by Python's own
 * Py_FinalizeEx(); the modules that were there before it, and what they are made of, are left to
 * the kernel with the process, as taking them apart takes longer than most programs run and writes
 * to most of the memory that copies share. Where a program could tell the difference, or the
 * interpreter is not one whose end is known, it ends as any other. Runs inside the interpreter, in
 * its main thread.
 */
#pragma once

/* In the original, once every module is there that is meant to be. */
void finalization_prepare(void);
