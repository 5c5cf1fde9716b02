/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost doctor: what this machine can do, and what is missing. Main thread. */
#include <string.h>

#include "cleanup.h"
#include "commands.h"
#include "console.h"
#include "descriptor_io.h"
#include "doctor_report.h"
#include "json_print.h"
#include "tool_call.h"

static bool ask_status(const struct provider *provider, json_t **ret_status,
                       struct failure *failure)
{
    char *text = NULL;
    int32_t code = provider->status(&text);
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    CLEANUP_JSON json_t *status = copy ? json_loads(copy, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json_is_object(status))
        return failure_set(failure, "provider_failed",
                           "the provider's status (%d) is no JSON object", (int)code);
    *ret_status = TAKE_POINTER(status);
    return true;
}

/* A refused configuration is the finding; the status of the one before it would mislead. A sweep is
 * told of while configuring only. */
static bool examine(const struct options *options, json_t **ret_status, struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    if (!tool_provider_open(options, &provider, failure))
        return false;
    bool refused = false;
    CLEANUP_JSON json_t *prepared = NULL;
    if (!tool_provider_prepare(options, &provider, true, &refused, &prepared, failure))
        return false;
    if (refused) {
        *ret_status = TAKE_POINTER(prepared);
        return true;
    }
    if (!ask_status(&provider, ret_status, failure))
        return false;
    json_t *sweep = json_object_get(prepared, "sweep");
    return !sweep || json_object_set(*ret_status, "sweep", sweep) == 0 ||
           failure_out_of_memory(failure);
}

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
    CLEANUP_JSON json_t *status = NULL;
    if (!examine(options, &status, &failure) ||
        !(options->json ? json_print(out, status, &failure)
                        : print_report(out, status, &failure))) {
        console_print_failure(&failure);
        return EXIT_FAILURE;
    }
    return doctor_report_is_available(status) ? EXIT_SUCCESS : EXIT_FAILURE;
}
