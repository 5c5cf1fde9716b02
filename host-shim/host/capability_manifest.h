/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities that a provider's manifest names: "required", "optional" and "default_grant" of
 * each tool's "capabilities" (docs/abi.md). Pure code, any thread.
 */
#pragma once

#include <jansson.h>

struct capability_manifest {
    json_t *names;          /* texts, each once: all that a tool can need */
    json_t *default_grants; /* those that a host grants without being told to */
};

/* Both are empty for a manifest that cannot be read or names none. NULL members: out of memory.
 * Release with capability_manifest_clear(). */
struct capability_manifest capability_manifest_read(const char *manifest_json);
void capability_manifest_clear(struct capability_manifest *manifest);
