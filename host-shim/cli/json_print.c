/* SPDX-License-Identifier: Apache-2.0 */
/* Prints JSON to a descriptor. Main thread. */
#include "cli/json_print.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json_compact.h"

bool json_print(int out, const json_t *value, struct failure *failure)
{
    CLEANUP_FREE char *text = json_text(value, JSON_INDENT(2));
    if (!text)
        return failure_out_of_memory(failure);
    if (write_fully(out, text, strlen(text)) && write_fully(out, "\n", 1))
        return true;
    return failure_set_errno(failure, "internal", errno, "cannot write to standard output");
}
