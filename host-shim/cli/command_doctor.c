/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost doctor: what this machine can do, and what is missing. Main thread. */
#include "base/cleanup.h"
#include "base/console.h"
#include "cli/commands.h"
#include "formats/doctor_report.h"
#include "host/provider_status.h"

int command_doctor(const struct options *options, int out)
{
    struct failure failure;
    json_auto_t *status = NULL;
    if (!provider_status_ask(options, &status, &failure) ||
        !(options->json ? console_print_json(out, status, &failure)
                        : console_print_page(out, doctor_report_write, status, &failure))) {
        console_print_failure(&failure);
        return EXIT_FAILURE;
    }
    return doctor_report_is_available(status) ? EXIT_SUCCESS : EXIT_FAILURE;
}
