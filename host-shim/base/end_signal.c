/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of the signals that end toolhost. Main thread; the handler on any,
 * async-signal-safe. */
#include "base/end_signal.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/event.h"

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* All that a handler can reach is a variable like this. */
static atomic_int signalled_fd = -1;
static atomic_bool has_final;

static void on_signal(int number)
{
    int fd = atomic_load(&signalled_fd);
    if (number == SIGTERM || number == SIGHUP)
        atomic_store(&has_final, true);
    if (number != SIGPIPE && fd >= 0)
        event_set(fd);
}

static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

bool end_signal_watch(int *ret_fd, struct failure *failure)
{
    int fd = event_new();
    if (fd < 0)
        return failure_set_errno(failure, "internal", errno, "cannot watch for signals");
    atomic_store(&has_final, false);
    atomic_store(&signalled_fd, fd);
    for (size_t i = 0; i < COUNT_OF(end_signals); i++)
        set_handler(end_signals[i], on_signal);
    *ret_fd = fd;
    return true;
}

bool end_signal_is_final(void)
{
    return atomic_load(&has_final);
}

void end_signal_ignore_pipe(void)
{
    set_handler(SIGPIPE, on_signal);
}

void end_signal_restore(void)
{
    for (size_t i = 0; i < COUNT_OF(end_signals); i++)
        set_handler(end_signals[i], SIG_DFL);
}

void end_signal_end(void)
{
    end_signal_restore();
    close_fd(atomic_exchange(&signalled_fd, -1));
}
