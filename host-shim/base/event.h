/* SPDX-License-Identifier: Apache-2.0 */
/* A flag that poll() sees: an eventfd. Any thread; setting it is async-signal-safe. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A new descriptor, or -1 with errno. */
static inline int event_new(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* Makes it readable. Keeps errno. */
static inline void event_set(int fd)
{
    int saved = errno;
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof(one));
    errno = saved;
}

static inline void event_clear(int fd)
{
    uint64_t count = 0;
    (void)!read(fd, &count, sizeof(count));
}
