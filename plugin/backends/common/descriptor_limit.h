/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RLIMIT_NOFILE: raised for the supervisor, which holds descriptors of every living run, and put
 * back before a program is executed. Single-threaded processes of the backend.
 */
#pragma once

void descriptor_limit_raise(void);
/* To what it was before; nothing where it was not raised. 0, or -1 with errno. */
int descriptor_limit_restore(void);
