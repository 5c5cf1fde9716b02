/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wiping of vector registers. The C library copies and compares through them; the bytes stay there,
 * and are in every core dump. Any process, any thread.
 */
#pragma once

/* Zeroes all of this thread's that a function may use. Other processors than x86-64 and AArch64 are
 * left as they are. */
void vector_registers_wipe(void);
