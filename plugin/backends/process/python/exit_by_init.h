/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a copied interpreter: at the very end of exit(3) its init is asked to end it
 * (interpreter_protocol.h). A program that ends otherwise, or has had a thread, ends by itself.
 * Runs inside the interpreter.
 */
#pragma once

/* In the original, before it loads libraries with destructors of their own, which then run before
 * this one. */
void exit_by_init_prepare(void);

/* In the copy, by the thread that it has. */
void exit_by_init_arm(void);
