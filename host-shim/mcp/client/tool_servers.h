/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of other MCP servers, for programs that a provider runs: context_json "tools",
 * call_tool and cancel_tool_call of abi/tool_provider.h. One thread serves all servers; what is
 * here may be called from any, and blocks only where it says so.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "tool_provider.h"

struct tool_servers;

/* Reads the file and starts its servers, which are not waited for. own: the manifest of the
 * provider, whose tools are never offered; reply: its function. NULL with a failure. */
struct tool_servers *tool_servers_start(const char *path, const char *manifest_json,
                                        tool_reply_call_fn reply, struct failure *failure);
/* Waits until each server has said what its tools are, or has failed, at most that long. */
void tool_servers_wait(struct tool_servers *servers, uint64_t most_ms);
/* An event that is set when a server has told of its tools, or of others than before; -1: none.
 * NULL is fine. */
void tool_servers_watch(struct tool_servers *servers, int changed_fd);
/* How often one has. */
uint64_t tool_servers_count_lists(struct tool_servers *servers);
/* What programs may call now; new, NULL when out of memory. A server that has never told of its
 * tools is started again. */
json_t *tool_servers_list(struct tool_servers *servers);

/* As call_tool and cancel_tool_call: the verdict is left alone, or TOOL_VERDICT_LATER. */
void tool_servers_call(struct tool_servers *servers, uint64_t token, const char *call_json,
                       uint32_t *verdict);
void tool_servers_cancel(struct tool_servers *servers, uint64_t token);

/* The servers are to end; all calls fail from now on. Does not wait. NULL is fine. */
void tool_servers_begin_end(struct tool_servers *servers);
/* The same, and waits for the end of the servers, about a second at most; frees. Before the
 * provider is closed: nothing is answered any more afterwards. NULL is fine. */
void tool_servers_stop(struct tool_servers *servers);
