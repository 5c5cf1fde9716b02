/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost audit verify: is the log as it was written? Main thread. */
#include <string.h>

#include "audit_verify.h"
#include "cleanup.h"
#include "commands.h"
#include "console.h"

static void print_intact(int out, const struct audit_link *last)
{
    if (last->seq == 0)
        (void)dprintf(out, "intact: no records\n");
    else
        (void)dprintf(out, "intact: %llu record%s, the last has sha256 %s\n",
                      (unsigned long long)last->seq, last->seq == 1 ? "" : "s", last->sha256);
}

int command_audit(const struct options *options, int out)
{
    struct failure failure;
    if (strcmp(options->words[0], "verify") != 0) {
        (void)failure_set(&failure, "usage", "audit verify FILE");
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    struct audit_link last;
    if (!audit_verify(options->words[1], options->anchor, &last, &failure)) {
        console_print_failure(&failure);
        return EXIT_FAILURE;
    }
    print_intact(out, &last);
    return EXIT_SUCCESS;
}
