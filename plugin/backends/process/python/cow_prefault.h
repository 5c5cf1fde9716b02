/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a copied interpreter shares with its original until it writes to it. Runs inside
 * the copy, in its one thread.
 */
#pragma once

/* What the profiled child has written to, as it tells it in its end to who forked it, through a
 * pipe. */
void cow_prefault_send_written(int fd);
/* In the original; what cannot be read is as if nothing had been learnt. */
void cow_prefault_receive_written(int fd);

/* Makes the copy's own, page by page, what the profiled child has written to (where nothing was
 * learnt, what is writable at all), so that the program need not wait for that. And maps what it
 * will read of files, which takes no memory. Both are bounded. What cannot be done is left to the
 * program. Does nothing where there is something to read from supervisor, a run that would wait. */
void cow_prefault(int supervisor);
