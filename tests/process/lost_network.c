/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a backend of its own, linked around the product's objects: the supervisor enters a network
 * namespace of its stock and cannot leave it for a while, which no kernel can be made to do.
 */
#include <errno.h>
#include <sched.h>

#include "backends/process/supervisor/launch/sandbox_stock.h"

/* One at its start, the way back from each that it makes, and the way into the first it uses. */
#define TRUE_CALLS (1 + STOCK_LIMIT + 1)
/* The way back, and again before the stock is filled and before the next run. */
#define FALSE_CALLS 3

int __real_setns(int fd, int kind);
int __wrap_setns(int fd, int kind);

int __wrap_setns(int fd, int kind)
{
    static int calls;
    int call = calls++;
    if (call < TRUE_CALLS || call >= TRUE_CALLS + FALSE_CALLS)
        return __real_setns(fd, kind);
    errno = EPERM;
    return -1;
}
