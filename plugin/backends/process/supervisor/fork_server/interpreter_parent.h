/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that has never run a program and of which sandboxes are copies, as the supervisor
 * holds it. It sees nothing of any run. Runs in the supervisor, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/sandbox_template.h"
#include "backends/process/messages/seccomp_program.h"
#include "protocol/preparation_outcome.h"

enum parent_state {
    PARENT_STARTING,
    PARENT_WAITING,    /* copies are to be had */
    PARENT_IMPOSSIBLE, /* of this interpreter there will be no copies: it said so */
    PARENT_GONE,
};

struct interpreter_parent {
    pid_t pid;
    int socket;
    enum parent_state state;
    uint64_t started_us;
    uint64_t copies;                    /* made so far */
    struct preparation_outcome outcome; /* once it waits, or is impossible */
};

/* Starts the template's interpreter. NULL with errno. */
struct interpreter_parent *interpreter_parent_start(const struct sandbox_template *template,
                                                    const struct seccomp_filters *filters,
                                                    const struct namespaces *outside, uint64_t now);

/* When it must have said something at the latest; 0: it has. */
uint64_t interpreter_parent_deadline(const struct interpreter_parent *parent);

/* Takes notice of what it has said or that it has ended. */
void interpreter_parent_look(struct interpreter_parent *parent, uint64_t now);

/* When it is to be replaced at the latest. */
uint64_t interpreter_parent_renewal(const struct interpreter_parent *parent,
                                    const struct interpreter_template *template);
/* Made so many copies, or is so old, that another one is to take its place. */
bool interpreter_parent_is_old(const struct interpreter_parent *parent,
                               const struct interpreter_template *template, uint64_t now);

/* Makes it copy itself into the first process of a sandbox, which becomes a child of the
 * supervisor. Waits for it. The pid and *ret_pidfd, the caller's; -1 with errno. */
pid_t interpreter_parent_copy(struct interpreter_parent *parent, int child_report, int *ret_pidfd);

/* Kills and reaps it, and releases what is held; NULL is fine. */
void interpreter_parent_end(struct interpreter_parent *parent);
