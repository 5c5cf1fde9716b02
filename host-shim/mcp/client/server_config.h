/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of --tools-from: which programs to start, and which of their tools programs may call.
 * The form is that of MCP clients, {"mcpServers": {NAME: {...}}}. Constant once it has been read;
 * any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

#define SERVER_CONFIGS     16u
#define SERVER_NAME_LENGTH 32u

/* What is not owned is the file's. */
struct server_config {
    const char *name;      /* letters, digits, "_" and "-" */
    char **argv;           /* owned; NULL-terminated, the command first */
    const char *directory; /* where it is started; NULL: where toolhost was */
    json_t *environment;   /* names and texts; NULL: none of its own */
    const json_t *tools;   /* patterns of names; NULL: no tool may be called */
    json_t *approval;      /* words by pattern; NULL: none */
};

struct server_configs {
    json_t *file; /* owned */
    struct server_config list[SERVER_CONFIGS];
    size_t count;
};

/* The file must be its owner's alone: it names programs, and may hold keys. *ret is all zero
 * before. */
bool server_configs_read(const char *path, struct server_configs *ret, struct failure *failure);
void server_configs_clear(struct server_configs *configs);

/* May programs call the server's tool of that name? */
bool server_config_allows(const struct server_config *config, const char *tool);
/* "never", "ask" or "always_ask": by the tool's name, else by the longest pattern that fits, else
 * "ask". */
const char *server_config_approval(const struct server_config *config, const char *tool);
