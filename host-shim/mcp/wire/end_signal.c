/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of the server's signals. Main thread; the handler on any, async-signal-safe. */
#include "mcp/wire/end_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
static atomic_int signalled_fd = -1;

static void on_signal(int number)
{
    int saved = errno;
    int fd = atomic_load(&signalled_fd);
    uint64_t one = 1;
    if (number != SIGPIPE && fd >= 0)
        (void)!write(fd, &one, sizeof(one));
    errno = saved;
}

static void set_handlers(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(end_signals); i++)
        (void)sigaction(end_signals[i], &action, NULL);
    (void)sigaction(SIGPIPE, &action, NULL);
}

bool end_signal_watch(int *ret_fd, struct failure *failure)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return failure_set_errno(failure, "internal", errno, "cannot watch for signals");
    atomic_store(&signalled_fd, fd);
    set_handlers();
    *ret_fd = fd;
    return true;
}
