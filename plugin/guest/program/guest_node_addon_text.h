/* SPDX-License-Identifier: Apache-2.0 */
/* The addon of guest_node_addon.c, embedded at build (scripts/generate/embed-text). */
#pragma once

#include <stddef.h>

extern const char guest_node_addon_text[];
extern const size_t guest_node_addon_length;
