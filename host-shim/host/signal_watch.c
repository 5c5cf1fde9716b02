/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watching thread, its start and its end (main thread). The second signal puts the default
 * dispositions back, so that a third ends toolhost even when the provider hangs; the provider's
 * backends then end with it.
 */
#include "host/signal_watch.h"

#include <errno.h>
#include <poll.h>

#include "base/cleanup.h"
#include "base/end_signal.h"
#include "base/event.h"
#include "base/signal_mask.h"

#define CANCEL_RETRY_MS 20

/* Cancelling again is harmless; it is repeated while the call is not yet known to the provider,
 * because the signal may have come before tool_invoke() has begun. */
static void *watch_signals(void *argument)
{
    struct signal_watch *watch = argument;
    struct pollfd events[] = {{.fd = watch->stop_fd, .events = POLLIN},
                              {.fd = watch->signal_fd, .events = POLLIN}};
    unsigned signals_seen = 0;
    bool retry = false;
    for (;;) {
        int ready = poll(events, COUNT_OF(events), retry ? CANCEL_RETRY_MS : -1);
        if (ready < 0 && errno != EINTR)
            return NULL;
        if (ready > 0 && events[0].revents)
            return NULL;
        if (ready > 0 && events[1].revents) {
            event_clear(events[1].fd);
            event_set(watch->cancelled_fd);
            if (++signals_seen >= 2 && (!watch->is_lent || end_signal_is_final()))
                end_signal_restore();
        }
        if (signals_seen > 0)
            retry = watch->cancel(watch->call_id) == TOOL_UNKNOWN;
    }
}

static void end_watch(const struct signal_watch *watch)
{
    if (!watch->is_lent)
        end_signal_end();
}

bool signal_watch_start(struct signal_watch *watch, tool_cancel_fn cancel, uint64_t call_id,
                        int signal_fd, struct failure *failure)
{
    CLEANUP_CLOSE int stop = event_new();
    CLEANUP_CLOSE int cancelled = event_new();
    bool is_lent = signal_fd >= 0;
    if (stop < 0 || cancelled < 0)
        return failure_set_errno(failure, "internal", errno, "cannot watch for signals");
    if (!is_lent && !end_signal_watch(&signal_fd, failure))
        return false;
    *watch = (struct signal_watch){.cancel = cancel,
                                   .call_id = call_id,
                                   .signal_fd = signal_fd,
                                   .is_lent = is_lent,
                                   .stop_fd = stop,
                                   .cancelled_fd = cancelled};
    int error = thread_start_without_signals(&watch->thread, watch_signals, watch);
    if (error != 0) {
        end_watch(watch);
        return failure_set_errno(failure, "internal", error, "cannot watch for signals");
    }
    (void)TAKE_FD(stop);
    (void)TAKE_FD(cancelled);
    watch->started = true;
    return true;
}

bool signal_watch_was_signalled(const struct signal_watch *watch)
{
    struct pollfd event = {.fd = watch->cancelled_fd, .events = POLLIN};
    return watch->started && poll(&event, 1, 0) > 0;
}

void signal_watch_stop(struct signal_watch *watch)
{
    if (!watch->started)
        return;
    if (!watch->is_lent)
        end_signal_restore();
    event_set(watch->stop_fd);
    (void)pthread_join(watch->thread, NULL);
    end_watch(watch);
    close_fd(watch->stop_fd);
    close_fd(watch->cancelled_fd);
    watch->started = false;
}
