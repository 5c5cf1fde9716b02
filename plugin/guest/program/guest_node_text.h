/* SPDX-License-Identifier: Apache-2.0 */
/* guest_node.js with the runner's parts (scripts/generate/join-scripts), embedded at build
 * (scripts/generate/embed-text) with a NUL behind it. */
#pragma once

#include <stddef.h>

extern const char guest_node_text[];
extern const size_t guest_node_length;
