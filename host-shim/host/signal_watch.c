/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal handler (any thread, async-signal-safe), the watching thread, and their start and end
 * (main thread). The second signal puts the default dispositions back, so that a third ends
 * toolhost even when the provider hangs; the provider's backends then end with it.
 */
#include "host/signal_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"

#define CANCEL_RETRY_MS 20

static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* The one thing a handler can reach: the descriptor it writes to. */
static atomic_int signalled_fd = -1;

static void write_event(int fd)
{
    int saved = errno;
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof(one));
    errno = saved;
}

static void on_signal(int signal_number)
{
    (void)signal_number;
    int fd = atomic_load(&signalled_fd);
    if (fd >= 0)
        write_event(fd);
}

static void set_dispositions(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(watched_signals); i++)
        (void)sigaction(watched_signals[i], &action, NULL);
}

static void drain(int fd)
{
    uint64_t count = 0;
    (void)!read(fd, &count, sizeof(count));
}

/* Cancelling again is harmless; it is repeated while the call is not yet known to the provider,
 * because the signal may have come before tool_invoke() has begun. */
static void *watch_signals(void *argument)
{
    struct signal_watch *watch = argument;
    struct pollfd events[] = {{.fd = watch->stop_fd, .events = POLLIN},
                              {.fd = atomic_load(&signalled_fd), .events = POLLIN}};
    unsigned signals_seen = 0;
    bool retry = false;
    for (;;) {
        int ready = poll(events, COUNT_OF(events), retry ? CANCEL_RETRY_MS : -1);
        if (ready < 0 && errno != EINTR)
            return NULL;
        if (ready > 0 && events[0].revents)
            return NULL;
        if (ready > 0 && events[1].revents) {
            drain(events[1].fd);
            write_event(watch->cancelled_fd);
            if (++signals_seen >= 2)
                set_dispositions(SIG_DFL);
        }
        if (signals_seen > 0)
            retry = watch->cancel(watch->call_id) == TOOL_UNKNOWN;
    }
}

static int new_event(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* The thread takes no signals: a handler of the provider's host program runs where it always did.
 */
static int start_thread(struct signal_watch *watch)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&watch->thread, NULL, watch_signals, watch);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

bool signal_watch_start(struct signal_watch *watch, tool_cancel_fn cancel, uint64_t call_id,
                        struct failure *failure)
{
    CLEANUP_CLOSE int signalled = new_event();
    CLEANUP_CLOSE int stop = new_event();
    CLEANUP_CLOSE int cancelled = new_event();
    if (signalled < 0 || stop < 0 || cancelled < 0)
        return failure_set_errno(failure, "internal", errno, "cannot watch for signals");
    *watch = (struct signal_watch){
        .cancel = cancel, .call_id = call_id, .stop_fd = stop, .cancelled_fd = cancelled};
    atomic_store(&signalled_fd, signalled);
    int error = start_thread(watch);
    if (error != 0) {
        atomic_store(&signalled_fd, -1);
        return failure_set_errno(failure, "internal", error, "cannot watch for signals");
    }
    (void)TAKE_FD(signalled);
    (void)TAKE_FD(stop);
    (void)TAKE_FD(cancelled);
    watch->started = true;
    set_dispositions(on_signal);
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
    set_dispositions(SIG_DFL);
    write_event(watch->stop_fd);
    (void)pthread_join(watch->thread, NULL);
    close_fd(atomic_exchange(&signalled_fd, -1));
    close_fd(watch->stop_fd);
    close_fd(watch->cancelled_fd);
    watch->started = false;
}
