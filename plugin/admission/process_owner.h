/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process the plugin's state belongs to. After fork(2) the child has a copy of that state,
 * with locks that threads of the parent held and calls that only the parent runs; the descriptors
 * in it are shared with the parent. The first export that the child enters makes the copy a state
 * of its own. The mark is a page that the kernel empties in a child (MADV_WIPEONFORK, madvise(2)),
 * so nothing runs at fork() itself. Any thread.
 */
#pragma once

/* Called at the start of every export. In a child that enters for the first time: one thread calls
 * start_anew(), and the others wait until it has returned. */
void process_owner_enter(void (*start_anew)(void));

/* Releases the mark; only when the library is unloaded. */
void process_owner_release(void);
