/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of one server: in a process group of its own, with pipes to it that do not block. Of
 * toolhost's environment it has what MCP clients pass on, and no descriptor but its three.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/failure.h"
#include "mcp/client/server_config.h"

/* Marks a server of toolhost's, whose own servers would have no end. */
#define SERVER_PROCESS_MARK "TOOLHOST_TOOL_SERVER"

/* Descriptors are -1 where there is none; pid 0: no process. */
struct server_process {
    pid_t pid;
    int pidfd; /* readable: it has ended */
    int input; /* what toolhost writes to */
    int output;
    int log; /* its standard error */
};

#define SERVER_PROCESS_NONE ((struct server_process){0, -1, -1, -1, -1})

bool server_process_start(const struct server_config *config, struct server_process *ret,
                          struct failure *failure);
/* Closes its standard input, by which a server is asked to end. */
void server_process_close_input(struct server_process *process);
/* To its process group. */
void server_process_signal(const struct server_process *process, int number);
/* Kills what is left of its process group, reaps it and closes all. None is fine. */
void server_process_end(struct server_process *process);
