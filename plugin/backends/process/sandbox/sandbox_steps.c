/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the execution of a list of steps: which layer is applied, missing or the reason for refusal.
 * Runs in pid 1 of a sandbox and in its payload, single-threaded.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"

void sandbox_detail(struct sandbox *sandbox, const char *text)
{
    (void)snprintf(sandbox->detail, sizeof(sandbox->detail), "%s", text);
}

static enum run_failure failure_of(const struct sandbox *sandbox, const struct step *step)
{
    if (sandbox->failure != RUN_FAILURE_NONE)
        return sandbox->failure;
    return step->layer == NO_LAYER ? RUN_FAILURE_INTERNAL : RUN_FAILURE_LAYER;
}

static void report_failed_step(const struct sandbox *sandbox, const struct step *step, int error)
{
    struct report report = {
        .kind = REPORT_FAILED,
        .isolation = sandbox->isolation,
        .failure = failure_of(sandbox, step),
        .failed_layer = step->layer == NO_LAYER ? 0 : step->layer,
        .error_number = error,
    };
    (void)snprintf(report.message, sizeof(report.message), "%s%s%s", step->name,
                   sandbox->detail[0] ? ": " : "", sandbox->detail);
    (void)report_send(sandbox->report, &report);
}

int sandbox_apply(struct sandbox *sandbox, const struct step_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct step *step = &list->steps[i];
        sandbox->detail[0] = '\0';
        sandbox->failure = RUN_FAILURE_NONE;
        int outcome = step->apply(sandbox);
        if (outcome == STEP_NOT_FOR_THIS_RUN)
            continue;
        if (outcome == 0) {
            if (step->kind == STEP_COMPLETE || step->kind == STEP_WANTED)
                sandbox->isolation.applied |= LAYER_BIT(step->layer);
        } else if (step->kind == STEP_WANTED) {
            sandbox->isolation.missing |= LAYER_BIT(step->layer);
        } else if (step->kind != STEP_TRIED) {
            report_failed_step(sandbox, step, errno);
            return -1;
        }
    }
    return 0;
}
