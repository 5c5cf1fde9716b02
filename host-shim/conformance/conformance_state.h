/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a process that belongs to the host and that a provider must leave alone. Main
 * thread.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#define STATE_SIGNALS 65

struct process_state {
    sigset_t mask;
    struct sigaction dispositions[STATE_SIGNALS];
    struct rlimit limits[RLIM_NLIMITS];
    unsigned file_mode_mask;
    char *directory;
    char *environment; /* all of it, one variable a line */
    char *locale;
    char *descriptors; /* the numbers of the open ones */
    size_t threads;
    size_t mapped_files; /* parts of files in its memory */
};

/* false when out of memory or /proc cannot be read. */
bool process_state_take(struct process_state *ret);
void process_state_clear(struct process_state *state);

/* Names a part of the host's own state that has changed; NULL: none. */
const char *process_state_difference(const struct process_state *before,
                                     const struct process_state *after);
/* Is any part of that file in this process's memory? path is as the kernel writes it. */
bool process_state_maps(const char *path);
/* Names leaked descriptors or threads; NULL: none. */
const char *process_state_leftover(const struct process_state *before,
                                   const struct process_state *after);
