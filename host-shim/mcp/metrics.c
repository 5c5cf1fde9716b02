/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file again and again. Starting and stopping: main thread; writing: the one here. */
#include "mcp/metrics.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "mcp/server.h"
#include "metrics_file.h"
#include "provider_status.h"

#define INTERVAL_MS 2000

/* Old counters would pass for new ones: where there are none, none are written. */
static bool write_now(struct metrics *metrics, struct failure *failure)
{
    json_t *counters = provider_status_counters(metrics->provider);
    (void)json_object_del(metrics->status, "counters");
    if (counters && json_object_set_new(metrics->status, "counters", counters) != 0)
        return failure_out_of_memory(failure);
    return metrics_file_write(metrics->path, metrics->status, failure);
}

/* The first failure of a row is told. */
static void *write_until_the_end(void *argument)
{
    struct metrics *metrics = argument;
    struct pollfd end = {.fd = metrics->end_fd, .events = POLLIN};
    bool written = true;
    for (;;) {
        struct failure failure;
        int ended = poll(&end, 1, INTERVAL_MS);
        if (ended > 0)
            return NULL;
        bool now = write_now(metrics, &failure);
        if (!now && written)
            server_notice(failure.message);
        written = now;
    }
}

bool metrics_start(struct metrics *metrics, const char *path, const struct provider *provider,
                   const json_t *status, struct failure *failure)
{
    *metrics = (struct metrics){.path = path, .provider = provider, .end_fd = -1};
    if (!path)
        return true;
    metrics->status = status ? json_deep_copy(status) : json_object();
    metrics->end_fd = eventfd(0, EFD_CLOEXEC);
    if (!metrics->status)
        return failure_out_of_memory(failure);
    if (metrics->end_fd < 0)
        return failure_set_errno(failure, "internal", errno, "no descriptors");
    if (!write_now(metrics, failure))
        return false;
    int error = pthread_create(&metrics->thread, NULL, write_until_the_end, metrics);
    metrics->runs = error == 0;
    return metrics->runs || failure_set_errno(failure, "internal", error, "no thread");
}

void metrics_stop(struct metrics *metrics)
{
    uint64_t one = 1;
    if (metrics->runs) {
        (void)!write(metrics->end_fd, &one, sizeof(one));
        (void)pthread_join(metrics->thread, NULL);
        (void)unlink(metrics->path);
    }
    json_decref(metrics->status);
    if (metrics->path)
        close_fd(metrics->end_fd);
    *metrics = (struct metrics){0};
}
