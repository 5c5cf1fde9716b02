/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the scores of processes: see oom_order.h. */
#include "base/oom_order.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HIGHEST_SCORE 1000
#define TEXT_SIZE     16

static bool read_own(int *ret)
{
    char text[TEXT_SIZE];
    CLEANUP_CLOSE int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    *ret = (int)strtol(text, NULL, 10);
    return true;
}

bool oom_order_find(int proc, struct oom_order *ret)
{
    int own;
    if (proc < 0 || !read_own(&own) || own >= HIGHEST_SCORE)
        return false;
    *ret = (struct oom_order){.proc = proc, .kept = own, .others = HIGHEST_SCORE};
    return true;
}

int oom_order_open(const struct oom_order *order, pid_t pid)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "%d/oom_score_adj", (int)pid);
    return openat(order->proc, path, O_WRONLY | O_CLOEXEC);
}

bool oom_order_set(int fd, int score)
{
    char text[TEXT_SIZE];
    int length = snprintf(text, sizeof(text), "%d", score);
    return write(fd, text, (size_t)length) == length;
}
