/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fork server, as the supervisor holds it: an interpreter that has never run a program and of
 * which sandboxes are copies. It sees nothing of any run. Runs in the supervisor, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/sandbox_template.h"
#include "backends/process/messages/seccomp_program.h"
#include "protocol/preparation_outcome.h"

enum fork_server_state {
    FORK_SERVER_STARTING,
    FORK_SERVER_WAITING,    /* it makes copies */
    FORK_SERVER_IMPOSSIBLE, /* it has said that it cannot be copied */
    FORK_SERVER_GONE,
};

struct fork_server {
    pid_t pid;
    int socket;
    enum fork_server_state state;
    uint64_t started_us;
    uint64_t copies;                    /* made so far */
    struct preparation_outcome outcome; /* once it waits, or is impossible */
};

/* Starts the template's interpreter. NULL with errno. */
struct fork_server *fork_server_start(const struct sandbox_template *template,
                                      const struct seccomp_filters *filters,
                                      const struct namespaces *outside, uint64_t now);

/* When it must have said something at the latest; 0: it has. */
uint64_t fork_server_deadline(const struct fork_server *fork_server);

/* Reads its messages, and notices its end. */
void fork_server_look(struct fork_server *fork_server, uint64_t now);

/* When it is to be replaced at the latest. */
uint64_t fork_server_renewal(const struct fork_server *fork_server,
                             const struct interpreter_template *template);
/* Has it made so many copies, or is it so old, that another one is to take its place? */
bool fork_server_is_old(const struct fork_server *fork_server,
                        const struct interpreter_template *template, uint64_t now);

/* Makes it copy itself into the first process of a sandbox with that directory ("": none), which
 * becomes a child of the supervisor. Waits for it. The pid and *ret_pidfd, the caller's; -1 with
 * errno. */
pid_t fork_server_copy(struct fork_server *fork_server, const char *directory, int child_report,
                       int *ret_pidfd);

/* Kills and reaps it, and frees it; NULL is fine. */
void fork_server_end(struct fork_server *fork_server);
