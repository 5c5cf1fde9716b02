/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whose container it is, and whether the owner still lives. Every container has its
 * owner's identity in labels. A backend removes the containers of owners that have certainly ended,
 * and those of owners that it cannot judge once their latest time is past. Runs in a backend of
 * containers.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define OWNER_LABEL_BOOT "code-execute.boot" /* boot id of the owner's kernel */
/* Pid and time namespace: in others the same process has another pid and another start time. */
#define OWNER_LABEL_SPACE  "code-execute.space"
#define OWNER_LABEL_PID    "code-execute.pid"
#define OWNER_LABEL_START  "code-execute.start" /* of the process, in ticks since boot */
#define OWNER_LABEL_RUN    "code-execute.run"
#define OWNER_LABEL_LATEST "code-execute.latest" /* Unix time after which no owner uses it */

struct owner {
    char boot[40];
    char space[64];
    int64_t pid;
    uint64_t start;
};

/* This process; false where /proc cannot be read. */
bool owner_self(struct owner *ret);

/* A new object of labels, NULL when out of memory. */
json_t *owner_labels(const struct owner *owner, const char *run_id, int64_t latest);

enum owner_life { OWNER_UNKNOWN, OWNER_LIVES, OWNER_ENDED };

/* Does the process with that pid and start time live, in this pid namespace? It has ended where the
 * kernel has no such pid (ESRCH), and where /proc shows a zombie or another start time. A process
 * that /proc does not show may live: "hidepid" hides those of other users (proc(5)). */
typedef enum owner_life owner_look_function(int64_t pid, uint64_t start);
owner_look_function owner_look;

/* May the container with these labels be removed by this owner? An owner of another kernel (an
 * earlier boot, or another machine behind a forwarded socket) or of other namespaces cannot be
 * judged. */
bool owner_is_stray(const json_t *labels, const struct owner *self, int64_t now,
                    owner_look_function *look);
