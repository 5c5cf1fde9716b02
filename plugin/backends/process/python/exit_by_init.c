/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the last word of a copy: see exit_by_init.h. */
#include "backends/process/python/exit_by_init.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/python/rehearsal.h"

static pid_t armed;  /* the copy itself, not a process that it forks */
static bool exiting; /* by exit(3), with this status */
static int exit_status;

static void note_status(int status, void *unused)
{
    (void)unused;
    exiting = true;
    exit_status = status;
}

void exit_by_init_prepare(void)
{
    (void)on_exit(note_status, NULL);
}

void exit_by_init_arm(void)
{
    armed = getpid();
}

/* Behind the destructors of all that was loaded later; exit(3) would have flushed the C library's
 * streams, and only then ended. */
__attribute__((destructor)) static void ask(void)
{
    if (!exiting || armed != getpid())
        return;
    if (rehearsal_is_on())
        rehearsal_end();
    if (!__libc_single_threaded)
        return;
    (void)fflush(NULL);
    (void)syscall(EXIT_REQUEST_CALL, EXIT_REQUEST_WORD, (uint64_t)(unsigned int)exit_status);
}
