/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to change attributes of files, for a filtered_child. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef int (*attempt)(void);

#define THEN 1000000000 /* a time that no file here has */

extern const char *target; /* of a way, as the child names it */

/* The error, if there is one. */
int no_error(long result);

/* Each way to change a file's attributes: mode 0700, the times THEN, or the owner that it has. */
extern const attempt attribute_ways[];
extern const size_t attribute_way_count;
bool attribute_way_is_of_link(attempt way); /* whatever else is said */

/* Calls that the kernel and an init answer alike: wrong ones, and those of symbolic links. */
extern const attempt attribute_answers[];
extern const size_t attribute_answer_count;
