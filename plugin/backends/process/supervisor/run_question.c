/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the answers to questions: see run_question.h. */
#include "backends/process/supervisor/run_question.h"

#include <errno.h>
#include <stdio.h>

#include "backends/common/run_answer.h"
#include "base/cleanup.h"

/* The sweep itself was the supervisor's first act. */
static void answer_sweep(const struct cgroup_base *base, struct run_event *ret)
{
    ret->swept = base->swept;
    ret->unswept = base->unswept;
}

/* Where runs have asked for such already it is theirs to say how many. */
static void answer_preparation(const struct run_description *description, struct pool *pool,
                               struct run_event *ret)
{
    CLEANUP(sandbox_template_clear) struct sandbox_template template = {.workspace = NULL};
    struct preparation_outcome outcome = {.kind = PREPARATION_NONE};
    if (!sandbox_template_of(description, &template)) {
        run_event_fail(ret, RUN_FAILURE_INTERNAL, ENOMEM, "no memory for the question");
        return;
    }
    if (description->isolation == RUN_ISOLATION_SANDBOX) {
        if (!pool_find(pool, &template))
            pool_demand(pool, &template, description, monotonic_us());
        pool_tell(pool, &template, &outcome);
    }
    ret->preparation = outcome.kind;
    (void)snprintf(ret->message, sizeof(ret->message), "%s", outcome.detail);
}

bool run_question_answer(const struct run_description *description, struct pool *pool,
                         struct run_event *ret)
{
    if (description->purpose != RUN_PURPOSE_SWEEP && description->purpose != RUN_PURPOSE_PREPARE)
        return false;
    ret->cause = RUN_CAUSE_EXIT;
    ret->exit_code = 0;
    if (description->purpose == RUN_PURPOSE_SWEEP)
        answer_sweep(&pool->environment->cgroups, ret);
    else
        answer_preparation(description, pool, ret);
    return true;
}
