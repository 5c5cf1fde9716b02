/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file again and again, and answers collectors. Starting and stopping: main thread; the
 * rest: the metrics thread. */
#include "metrics/metrics.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/deadline.h"
#include "base/event.h"
#include "host/provider_status.h"
#include "metrics/metrics_http.h"
#include "metrics/prometheus_text.h"

#define INTERVAL_MS 2000

static bool write_now(struct metrics *metrics, struct failure *failure)
{
    if (!provider_status_refresh(metrics->provider, metrics->status))
        return failure_out_of_memory(failure);
    return prometheus_file_write(metrics->path, metrics->status, failure);
}

/* Of several failures in a row only the first is reported. */
static void write_and_report(struct metrics *metrics, bool *written)
{
    struct failure failure;
    bool now = write_now(metrics, &failure);
    if (!now && *written)
        console_log_notice(failure.message);
    *written = now;
}

static char *make_text(void *user, size_t *ret_length)
{
    struct metrics *metrics = user;
    return provider_status_refresh(metrics->provider, metrics->status)
               ? prometheus_text_make(metrics->status, ret_length)
               : NULL;
}

static void *serve_metrics(void *argument)
{
    struct metrics *metrics = argument;
    struct pollfd events[] = {{.fd = metrics->end_fd, .events = POLLIN},
                              {.fd = metrics->listener, .events = POLLIN}};
    uint64_t due = monotonic_ms() + INTERVAL_MS;
    bool written = true;
    for (;;) {
        (void)poll(events, COUNT_OF(events), metrics->path ? deadline_poll_timeout(due) : -1);
        if (events[0].revents)
            return NULL;
        if (metrics->path && deadline_poll_timeout(due) == 0) {
            write_and_report(metrics, &written);
            due = monotonic_ms() + INTERVAL_MS;
        }
        if (events[1].revents)
            metrics_http_serve(metrics->listener, make_text, metrics);
    }
}

bool metrics_start(struct metrics *metrics, const char *path, const char *address,
                   const struct provider *provider, const json_t *status, struct failure *failure)
{
    *metrics = (struct metrics)METRICS_NONE;
    metrics->provider = provider;
    if (!path && !address)
        return true;
    metrics->path = path;
    metrics->status = status ? json_deep_copy(status) : json_object();
    metrics->end_fd = event_new();
    if (!metrics->status)
        return failure_out_of_memory(failure);
    if (metrics->end_fd < 0)
        return failure_set_errno(failure, "internal", errno, "no descriptors");
    if ((address && !metrics_http_open(address, &metrics->listener, failure)) ||
        (path && !write_now(metrics, failure)))
        return false;
    int error = pthread_create(&metrics->thread, NULL, serve_metrics, metrics);
    metrics->runs = error == 0;
    return metrics->runs || failure_set_errno(failure, "internal", error, "no thread");
}

void metrics_stop(struct metrics *metrics)
{
    if (metrics->runs) {
        event_set(metrics->end_fd);
        (void)pthread_join(metrics->thread, NULL);
    }
    if (metrics->runs && metrics->path)
        (void)unlink(metrics->path);
    json_decref(metrics->status);
    close_fd(metrics->listener);
    close_fd(metrics->end_fd);
    *metrics = (struct metrics)METRICS_NONE;
}
