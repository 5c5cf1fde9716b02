/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the identity in labels: see owner.h. Runs in a backend of containers. */
#include "backends/guest_runs/container/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process_stat.h"

static bool read_text(const char *path, char *text, size_t size)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return true;
}

enum stat_outcome { STAT_UNREAD, STAT_ENDED, STAT_READ };

/* A zombie owns nothing any more. */
static enum stat_outcome read_start(const char *path, uint64_t *ret)
{
    struct process_stat stat;
    if (!process_stat_read(AT_FDCWD, path, &stat) || stat.start_ticks == 0)
        return STAT_UNREAD;
    if (process_stat_has_ended(&stat))
        return STAT_ENDED;
    *ret = stat.start_ticks;
    return STAT_READ;
}

/* /proc may be a mount of another pid namespace, with other numbers. */
static bool proc_is_own(void)
{
    char text[24] = "";
    char own[24];
    (void)snprintf(own, sizeof(own), "%d", (int)getpid());
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 && strcmp(text, own) == 0;
}

enum owner_life owner_look(int64_t pid, uint64_t start)
{
    char path[64];
    uint64_t found = 0;
    if (pid <= 0 || pid > INT_MAX)
        return OWNER_UNKNOWN;
    if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
        return OWNER_ENDED;
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    enum stat_outcome outcome = proc_is_own() ? read_start(path, &found) : STAT_UNREAD;
    if (outcome == STAT_UNREAD)
        return OWNER_UNKNOWN;
    return outcome == STAT_READ && found == start ? OWNER_LIVES : OWNER_ENDED;
}

/* The pid and time namespaces; kernels before 5.6 have no time namespaces. */
static bool read_namespaces(char *ret, size_t size)
{
    ssize_t pids = readlink("/proc/self/ns/pid", ret, size - 1);
    if (pids <= 0)
        return false;
    ret[pids] = '\0';
    char clock[32] = "";
    if (readlink("/proc/self/ns/time", clock, sizeof(clock) - 1) > 0)
        (void)snprintf(ret + pids, size - (size_t)pids, " %s", clock);
    return true;
}

bool owner_self(struct owner *ret)
{
    struct owner self = {.pid = getpid()};
    if (!read_text("/proc/sys/kernel/random/boot_id", self.boot, sizeof(self.boot)) ||
        !read_namespaces(self.space, sizeof(self.space)) ||
        read_start("/proc/self/stat", &self.start) != STAT_READ)
        return false;
    self.boot[strcspn(self.boot, "\n")] = '\0';
    *ret = self;
    return true;
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

/* The label's whole number, or the fallback. */
static int64_t label_number(const json_t *labels, const char *name, int64_t fallback)
{
    const char *text = json_string_value(json_object_get(labels, name));
    if (!text || text[0] == '\0' || strlen(text) > 18 || text[strspn(text, "0123456789")] != '\0')
        return fallback;
    return strtoll(text, NULL, 10);
}

bool owner_is_stray(const json_t *labels, const struct owner *self, int64_t now,
                    owner_look_function *look)
{
    const char *boot = json_string_value(json_object_get(labels, OWNER_LABEL_BOOT));
    const char *space = json_string_value(json_object_get(labels, OWNER_LABEL_SPACE));
    if (!boot || !space)
        return false;
    enum owner_life life = OWNER_UNKNOWN;
    int64_t start = label_number(labels, OWNER_LABEL_START, 0);
    if (start > 0 && strcmp(boot, self->boot) == 0 && strcmp(space, self->space) == 0)
        life = look(label_number(labels, OWNER_LABEL_PID, 0), (uint64_t)start);
    if (life == OWNER_UNKNOWN)
        return now > label_number(labels, OWNER_LABEL_LATEST, INT64_MAX);
    return life == OWNER_ENDED;
}
