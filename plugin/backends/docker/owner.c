/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the identity in labels: see owner.h. Runs in the docker backend. */
#include "owner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cleanup.h"

#define START_FIELD 22 /* of /proc/PID/stat; see proc(5) */

static bool read_text(const char *path, char *text, size_t size)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return true;
}

uint64_t owner_read_start(int64_t pid)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    if (pid <= 0 || !read_text(path, text, sizeof(text)))
        return 0;
    /* The name, the second field, may hold anything; those behind it hold no blank. */
    const char *field = strrchr(text, ')');
    /* What has ended and waits for its parent owns nothing any more. */
    if (field && field[1] == ' ' && strchr("ZXx", field[2]))
        return 0;
    for (int number = 2; field && number < START_FIELD; number++)
        field = strchr(field + 1, ' ');
    return field ? strtoull(field + 1, NULL, 10) : 0;
}

bool owner_self(struct owner *ret)
{
    struct owner self = {.pid = getpid()};
    if (!read_text("/proc/sys/kernel/random/boot_id", self.boot, sizeof(self.boot)) ||
        readlink("/proc/self/ns/pid", self.space, sizeof(self.space) - 1) <= 0)
        return false;
    self.boot[strcspn(self.boot, "\n")] = '\0';
    self.start = owner_read_start(self.pid);
    *ret = self;
    return self.start != 0;
}

json_t *owner_labels(const struct owner *owner, const char *run_id, int64_t latest)
{
    char pid[24];
    char start[24];
    char time[24];
    (void)snprintf(pid, sizeof(pid), "%" PRId64, owner->pid);
    (void)snprintf(start, sizeof(start), "%" PRIu64, owner->start);
    (void)snprintf(time, sizeof(time), "%" PRId64, latest);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", OWNER_LABEL_BOOT, owner->boot,
                     OWNER_LABEL_SPACE, owner->space, OWNER_LABEL_PID, pid, OWNER_LABEL_START,
                     start, OWNER_LABEL_RUN, run_id, OWNER_LABEL_LATEST, time);
}

/* A whole number, or the fallback. */
static int64_t number(const json_t *labels, const char *name, int64_t fallback)
{
    const char *text = json_string_value(json_object_get(labels, name));
    if (!text || text[0] == '\0' || strlen(text) > 18 || text[strspn(text, "0123456789")] != '\0')
        return fallback;
    return strtoll(text, NULL, 10);
}

bool owner_is_stray(const json_t *labels, const struct owner *self, bool same_kernel, int64_t now,
                    owner_process_start *process_start)
{
    const char *boot = json_string_value(json_object_get(labels, OWNER_LABEL_BOOT));
    const char *space = json_string_value(json_object_get(labels, OWNER_LABEL_SPACE));
    if (!boot || !space)
        return false;
    if (now > number(labels, OWNER_LABEL_LATEST, INT64_MAX))
        return true;
    if (strcmp(boot, self->boot) != 0)
        return same_kernel;
    if (strcmp(space, self->space) != 0)
        return false;
    int64_t pid = number(labels, OWNER_LABEL_PID, 0);
    int64_t start = number(labels, OWNER_LABEL_START, 0);
    return pid > 0 && start > 0 && process_start(pid) != (uint64_t)start;
}
