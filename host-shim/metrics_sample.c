/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of metrics. Any thread. */
#include "metrics_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "descriptor_io.h"
#include "number.h"

#define FILE_LIMIT    ((size_t)1 << 20)
#define LARGEST_VALUE (UINT64_C(1) << 53) /* what a collector keeps exactly */

static const char prefix[] = "toolhost_";
static const char info_name[] = "info{";

static const char *const names[METRIC_COUNT] = {
    [METRIC_READY] = "ready",
    [METRIC_CALLS_UNDER_WAY] = "calls_under_way",
    [METRIC_CALLS_RUNNING] = "calls_running",
    [METRIC_CALLS_QUEUED] = "calls_queued",
    [METRIC_CALLS_WAITING] = "calls_waiting_for_approval",
    [METRIC_CALLS_RUN] = "calls_run_total",
    [METRIC_CALLS_NOT_RUN] = "calls_not_run_total",
    [METRIC_CALLS_TOO_MANY] = "calls_too_many_total",
    [METRIC_SANDBOXES_READY] = "sandboxes_ready_total",
    [METRIC_SANDBOXES_COPIED] = "sandboxes_copied_total",
    [METRIC_SANDBOXES_NEW] = "sandboxes_new_total",
    [METRIC_POOL_READY] = "pool_ready",
    [METRIC_POOL_WANTED] = "pool_wanted",
    [METRIC_POOL_MEMORY] = "pool_memory_bytes",
};

static void take_number(struct metrics_sample *sample, const char *name, const char *value)
{
    for (size_t i = 0; i < METRIC_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            sample->has[i] = number_parse(value, LARGEST_VALUE, &sample->value[i]);
}

/* One of several lines that are told apart by their labels. */
static void add_number(struct metrics_sample *sample, const char *name, const char *value)
{
    uint64_t number = 0;
    for (size_t i = METRIC_POOL_READY; i < METRIC_COUNT; i++) {
        if (strcmp(names[i], name) != 0 || !number_parse(value, LARGEST_VALUE, &number))
            continue;
        sample->has[i] = true;
        sample->value[i] =
            number < LARGEST_VALUE - sample->value[i] ? sample->value[i] + number : LARGEST_VALUE;
    }
}

/* Splits the line, which is NUL-terminated. */
static void take_line(struct metrics_sample *sample, char *line)
{
    if (strncmp(line, prefix, strlen(prefix)) != 0)
        return;
    char *name = line + strlen(prefix);
    if (strncmp(name, info_name, strlen(info_name)) == 0) {
        (void)snprintf(sample->info, sizeof(sample->info), "%s", name + strlen(info_name));
        return;
    }
    char *space = strrchr(name, ' '); /* a label may have some, a number has none */
    if (!space)
        return;
    *space = '\0';
    char *labels = strchr(name, '{');
    if (!labels) {
        take_number(sample, name, space + 1);
        return;
    }
    *labels = '\0';
    add_number(sample, name, space + 1);
}

/* Nothing that is read for ever, or blocks: a file, and not a pipe or a device. */
static bool open_file(const char *path, int *ret_fd, struct timespec *ret_written,
                      struct failure *failure)
{
    struct stat status;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", path);
    if (!S_ISREG(status.st_mode))
        return failure_set(failure, "unreadable_file", "%s is not a regular file", path);
    *ret_written = status.st_mtim;
    *ret_fd = TAKE_FD(fd);
    return true;
}

bool metrics_sample_read(const char *path, struct metrics_sample *ret, struct failure *failure)
{
    struct metrics_sample sample = {0};
    CLEANUP_CLOSE int fd = -1;
    if (!open_file(path, &fd, &sample.written, failure))
        return false;
    CLEANUP_FREE char *text = malloc(FILE_LIMIT + 1);
    if (!text)
        return failure_out_of_memory(failure);
    ssize_t length = read_up_to(fd, text, FILE_LIMIT);
    if (length < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", path);
    text[length] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(&sample, line);
    if (!sample.has[METRIC_READY])
        return failure_set(failure, "unreadable_file", "%s contains no toolhost metrics", path);
    *ret = sample;
    return true;
}

void metrics_sample_label(const struct metrics_sample *sample, const char *name, char *ret,
                          size_t size)
{
    char start[64];
    size_t length = 0;
    (void)snprintf(start, sizeof(start), "%s=\"", name);
    const char *next = sample->info;
    while (next && strncmp(next, start, strlen(start)) != 0) {
        next = strchr(next, ','); /* one inside a value is followed by no name that we ask for */
        next = next ? next + 1 : NULL;
    }
    for (next = next ? next + strlen(start) : ""; *next && *next != '"' && length + 1 < size;
         next++) {
        if (*next == '\\' && next[1])
            next++;
        ret[length++] = *next;
    }
    ret[length] = '\0';
    if (length == 0)
        (void)snprintf(ret, size, "-");
}

double metrics_seconds_between(struct timespec from, struct timespec until)
{
    return (double)(until.tv_sec - from.tv_sec) + (double)(until.tv_nsec - from.tv_nsec) / 1e9;
}
