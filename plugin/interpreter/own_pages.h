/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a copied interpreter shares with its original until it writes to it. Runs inside
 * the copy, in its one thread.
 */
#pragma once

#include <stddef.h>

/* Makes the copy's own, page by page, what it will most likely write to, so that the program need
 * not wait for that: at most so many bytes. And maps what it will read of files, so many at most,
 * which takes no memory. What cannot be done is left to the program. */
void own_pages(size_t own_limit, size_t read_limit);
