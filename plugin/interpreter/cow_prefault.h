/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a copied interpreter shares with its original until it writes to it. Runs inside
 * the copy, in its one thread.
 */
#pragma once

#include <stddef.h>

/* What the profiled child has written to, as it tells it in its end to who forked it, through a
 * pipe. */
void cow_prefault_send_written(int fd);
/* In the original; what cannot be read is as if nothing had been learnt. */
void cow_prefault_receive_written(int fd);

/* Makes the copy's own, page by page, what the profiled child has written to (where nothing was
 * learnt, what is writable at all), so that the program need not wait for that: at most so many
 * bytes. And maps what it will read of files, so many at most, which takes no memory. What cannot
 * be done is left to the program. */
void cow_prefault(size_t own_limit, size_t read_limit);
