/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the layers from inside: see guest_layers.h. */
#include "guest/layers/guest_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/layers/guest_filters.h"

#define FILTER_COUNT       2
#define STATUS_LIMIT       8192
#define MODE_FILTER        2 /* SECCOMP_MODE_FILTER */
#define DENIED_BY_LANDLOCK "/tmp/.code-execute-denied"

static enum landlock_network chosen;

void layers_choose(enum landlock_network network)
{
    chosen = network;
}

/* A number of this process' status; -1: the kernel has no line of that name. */
static int status_number(const char *name)
{
    char status[STATUS_LIMIT];
    CLEANUP_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);
    if (length < 0)
        return -1;
    status[length] = '\0';
    const char *line = strstr(status, name);
    return line ? atoi(line + strlen(name)) : -1;
}

static bool load(const struct guest_filter *filter)
{
    return prctl(PR_SET_SECCOMP, MODE_FILTER, filter, 0, 0) == 0;
}

static bool filter_calls(void)
{
    static const char count[] = "\nSeccomp_filters:\t"; /* not before Linux 5.9, nor in gVisor */
    int before = status_number(count);
    if (!load(&guest_guards[chosen]) || !load(&guest_list))
        return false;
    if (before < 0 ? status_number("\nSeccomp:\t") == MODE_FILTER
                   : status_number(count) == before + FILTER_COUNT)
        return true;
    errno = ENOTSUP;
    return false;
}

/* Anyone may make such a file, a whiteout of an overlay, in a directory of his own; the ruleset has
 * no right for it. */
static bool landlock_denies(void)
{
    if (mknod(DENIED_BY_LANDLOCK, S_IFCHR | 0600, 0) < 0 && errno == EACCES)
        return true;
    (void)unlink(DENIED_BY_LANDLOCK);
    errno = ENOTSUP;
    return false;
}

bool layers_apply(void)
{
    if (landlock_abi() > 0 && (landlock_restrict(chosen) < 0 || !landlock_denies()))
        return false;
    return filter_calls();
}
