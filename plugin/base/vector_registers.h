/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C library copies and compares goes through the processor's vector registers, stays
 * there, and is in every core dump. Any process, any thread.
 */
#pragma once

/* Zeroes all of this thread's that a function may use. Other processors than x86-64 and AArch64 are
 * left as they are. */
void vector_registers_wipe(void);
