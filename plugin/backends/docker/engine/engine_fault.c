/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the wording of faults: see engine_fault.h. Runs in the docker backend. */
#include "backends/docker/engine/engine_fault.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void format_text(char *text, size_t size,
                                                              const char *format, va_list arguments)
{
    if (vsnprintf(text, size, format, arguments) < 0)
        text[0] = '\0';
}

void engine_fault_set(struct engine_fault *fault, enum engine_problem problem, const char *format,
                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_text(fault->message, sizeof(fault->message), format, arguments);
    va_end(arguments);
    fault->problem = problem;
}
