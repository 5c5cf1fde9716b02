/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's tools as a provider is told of them (context_json "tools" of abi/tool_provider.h).
 * What a server says is a stranger's: a definition that is too large, or not in order, is left out.
 * Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "mcp/client/server_config.h"

#define DEFINITION_BYTES 65536u
#define DEFINITIONS      256u /* of all servers */
/* Of all servers. A provider takes a context of 4 MiB (docs/tools.md); 1 MiB of it is left to the
 * rest, the narrowing and the paths of 128 files. */
#define DEFINITIONS_BYTES (3u << 20)

struct definition_rules {
    const struct server_config *config;
    const json_t *own; /* names that are never offered: those of the provider's own tools */
    void (*notice)(void *user, const char *text); /* of each tool that is left out, why */
    void *user;
};

/* Adds the tools of one answer to tools/list that programs may call, under "SERVER.TOOL". false:
 * out of memory. */
bool tool_definitions_add(json_t *definitions, const struct definition_rules *rules,
                          const json_t *result);

/* Has the list a tool of that full name? */
bool tool_definitions_have(const json_t *definitions, const char *name);

/* Copies of one server's behind those of others, as far as they fit in with them. The number that
 * did not fit; *bytes is how long all are so far. */
size_t tool_definitions_join(json_t *all, const json_t *definitions, size_t *bytes);
