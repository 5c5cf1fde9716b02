/* SPDX-License-Identifier: Apache-2.0 */
/* A run of inside.c, and what it must say. Single-threaded. */
#pragma once

#include <stdbool.h>

#include "protocol/run_description.h"

/* A sandboxed run of the program at INSIDE, with everyday limits. */
struct run_description inspector_run(void);
/* Whether it said of itself what a program with every layer does; the two that a machine may lack
 * are as they were told. */
bool inspector_is_content(const char *output, bool landlock);
