/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a copied interpreter shares with its original until it writes to it, page by
 * page. Runs inside the interpreter, in its one thread.
 */
#pragma once

/* In the child of a rehearsal (rehearsal.h): tells the pages that it has written to. Copies will
 * write to the same ones. */
void cow_send_written(int fd);

/* In the original: learns them. After any failure nothing has been learnt. */
void cow_receive_written(int fd);

/* In the original, ahead of a copy: notes its mappings, the first time. A copy may not be allowed
 * to look at its own. */
void cow_note_mappings(void);

/* First in a copy that is to wait: writes to the pages that a rehearsal has written to (where
 * nothing was learnt, to all writable ones), so that the program does not wait for the kernel to
 * copy them. Also maps the pages of files that it will read, which takes no memory. Both are
 * bounded, and best effort. Does nothing where supervisor is readable: a run would wait. What the
 * copy does until it waits is cheaper then as well: a page costs less here than at a fault. */
void cow_prefault(int supervisor);

/* In a session's interpreter behind a cell that had a checkpoint: notes the pages that it has
 * written to since, in the place of what was learnt before. */
void cow_learn_cell(void);

/* There, while it waits for a checkpoint to be made, until that descriptor is readable: writes to
 * the pages noted, so that the next cell does not wait for the kernel to copy them. Bounded, and
 * best effort. Before the first note it does nothing. */
void cow_prefault_cell(int until);
