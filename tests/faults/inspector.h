/* SPDX-License-Identifier: Apache-2.0 */
/* A run of inside.c, and what it must say. Single-threaded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"

/* The blueprint of all runs: of CODE_EXECUTE_TEST_MODE (enum run_isolation). */
uint32_t inspector_isolation(void);
/* From now on its runs reach endpoints; at first they do not. */
void inspector_has_endpoints(bool has);
/* The layers without which none of its programs runs. */
uint64_t inspector_layers(void);
/* A sandboxed run of the program at INSIDE, with everyday limits. */
struct run_description inspector_run(void);
/* Where runs without namespaces have their directories. */
const char *inspector_directory(void);
/* Whether it said of itself what a program with every layer does; the two that a machine may lack
 * are as they were told. */
bool inspector_is_content(const char *output, bool landlock);
/* The same of one that was ended before it had said all. */
bool inspector_is_content_so_far(const char *output);
