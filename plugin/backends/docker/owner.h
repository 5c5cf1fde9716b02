/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose container is it, and does its owner still live? Every container carries its owner's
 * identity in labels; a backend that starts removes those whose owner cannot be alive any more.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define OWNER_LABEL_BOOT   "code-execute.boot"  /* boot id of the owner's kernel */
#define OWNER_LABEL_SPACE  "code-execute.space" /* pid namespace: a pid alone says nothing */
#define OWNER_LABEL_PID    "code-execute.pid"
#define OWNER_LABEL_START  "code-execute.start" /* of the process, in ticks since boot */
#define OWNER_LABEL_RUN    "code-execute.run"
#define OWNER_LABEL_LATEST "code-execute.latest" /* Unix time after which no owner wants it */

struct owner {
    char boot[40];
    char space[32];
    int64_t pid;
    uint64_t start;
};

/* This process; false where /proc cannot be read. */
bool owner_self(struct owner *ret);

/* A new object of labels, NULL when out of memory. */
json_t *owner_labels(const struct owner *owner, const char *run_id, int64_t latest);

/* Start time of the process with that pid in this pid namespace, 0: there is none that lives. */
typedef uint64_t owner_process_start(int64_t pid);
owner_process_start owner_read_start;

/* May the container with these labels be removed by this owner? same_kernel: the engine is reached
 * over a local socket, so another boot id is an earlier boot and no other machine. Whoever cannot
 * be looked at is taken to live until its latest time. */
bool owner_is_stray(const json_t *labels, const struct owner *self, bool same_kernel, int64_t now,
                    owner_process_start *process_start);
