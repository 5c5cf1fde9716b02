/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the text of a fault: see fault.h. Runs in a backend of containers. */
#include "backends/guest_runs/container/fault.h"

#include <stdarg.h>
#include <stdio.h>

bool engine_fault_set(struct engine_fault *fault, unsigned int problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(fault->message, sizeof(fault->message), format, arguments) < 0)
        fault->message[0] = '\0';
    va_end(arguments);
    fault->problem = problem;
    fault->retry_after_ms = 0;
    return false;
}
