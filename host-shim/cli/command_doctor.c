/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost doctor: what this machine can do, and what is missing. Main thread. */
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "cli/commands.h"
#include "formats/doctor_report.h"
#include "host/provider_status.h"

static bool print_report(int out, const json_t *status, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *report = open_memstream(&text, &length);
    if (!report)
        return failure_out_of_memory(failure);
    doctor_report_write(report, status);
    if (fclose(report) != 0)
        return failure_out_of_memory(failure);
    return write_fully(out, text, length) ||
           failure_set(failure, "internal", "cannot write to standard output");
}

int command_doctor(const struct options *options, int out)
{
    struct failure failure;
    json_auto_t *status = NULL;
    if (!provider_status_ask(options, &status, &failure) ||
        !(options->json ? console_print_json(out, status, &failure)
                        : print_report(out, status, &failure))) {
        console_print_failure(&failure);
        return EXIT_FAILURE;
    }
    return doctor_report_is_available(status) ? EXIT_SUCCESS : EXIT_FAILURE;
}
