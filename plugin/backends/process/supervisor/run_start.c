/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of a run: see run.h. Runs in the supervisor. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/supervisor/run_state.h"
#include "backends/process/unconfined/unconfined.h"
#include "base/cleanup.h"

/* Our own set-up is milliseconds; a machine that needs longer than this is not running it. */
#define START_LIMIT_US (UINT64_C(20) * 1000000)

static void fail_launch(struct run *run, const struct launch_failure *failure)
{
    bool of_layer = failure->layer != LAYER_COUNT;
    run_event_fail(&run->event, of_layer ? RUN_FAILURE_LAYER : RUN_FAILURE_INTERNAL,
                   failure->error_number, failure->step);
    run->event.failed_layer = of_layer ? failure->layer : 0;
}

/* The directory that the supervisor's own is in. */
static void report_groups(const struct cgroup_base *base, struct run_event *event)
{
    const char *own = base->memory[0] ? base->memory : base->pids;
    const char *end = strrchr(own, '/');
    if (end)
        (void)snprintf(event->groups, sizeof(event->groups), "%.*s", (int)(end - own), own);
}

/* One that is ready where there is one, else a new one. */
static int start_sandbox(struct run *run, struct pool *pool, struct run_description *description,
                         const int *fds, struct launch_failure *reterr)
{
    CLEANUP(sandbox_template_clear) struct sandbox_template template = {.workspace = NULL};
    if (!sandbox_template_of(description, &template))
        return launch_fail(reterr, LAYER_COUNT, ENOMEM, "no memory for the run");
    if (template.endpoints && description->purpose == RUN_PURPOSE_PROGRAM)
        template.endpoints_fd = fds[RUN_FD_ENDPOINTS];
    /* The payload reads its own copy; what stays here would be copied into every sandbox. */
    run_description_clear_program(description);
    if (description->isolation == RUN_ISOLATION_UNPRIVILEGED)
        reaper_sweep(pool->reaper, template.scratch_directory);
    run->process = pool_obtain(pool, &template, run->started_us, &run->event.origin, reterr);
    if (!run->process)
        return -1;
    if (description->purpose == RUN_PURPOSE_PROGRAM)
        pool_demand(pool, &template, description, run->started_us);
    if (description->purpose == RUN_PURPOSE_TRIAL)
        report_groups(&pool->environment->cgroups, &run->event);
    /* A sandbox that has failed already says why in its report, which is read as any other's. */
    run->collects = description->outputs.files > 0;
    sandbox_handle_limit(run->process, &description->limits);
    if (description->session.idle_ms > 0) /* its checkpoints are not to die with a cell */
        cgroup_end_singly(&run->process->cgroup);
    if (sandbox_handle_give_run(run->process, &description->limits, run->collects, fds,
                                &run->event.isolation) == 0 ||
        errno == EPIPE || errno == ECONNRESET)
        return 0;
    return launch_fail(reterr, LAYER_COUNT, errno, "hand the run over");
}

static int start_unconfined(struct run *run, struct pool *pool, struct run_description *description,
                            const int *fds, struct launch_failure *reterr)
{
    run->unconfined = true;
    run->process = sandbox_handle_make_unconfined(pool->environment, description, fds, reterr);
    return run->process ? 0 : -1;
}

static void refuse_description(struct run *run)
{
    if (errno == ENOMEM)
        run_event_fail(&run->event, RUN_FAILURE_INTERNAL, errno, "no memory for the description");
    else
        run_event_fail(&run->event, RUN_FAILURE_DESCRIPTION, errno, "unreadable description");
}

static bool is_socket(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* Only a namespace of the run's own has the port free. A trial has nobody who would answer there.
 */
static bool endpoints_are_possible(const struct run_description *description, const int *fds)
{
    return !description->endpoints ||
           (description->isolation == RUN_ISOLATION_SANDBOX && !description->network &&
            (description->purpose != RUN_PURPOSE_PROGRAM || is_socket(fds[RUN_FD_ENDPOINTS])));
}

static int start_process(struct run *run, struct pool *pool, const int *fds)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    errno = EBADMSG;
    if (!run_read_description(fds[RUN_FD_DESCRIPTION], &description)) {
        refuse_description(run);
        return -1;
    }
    if (!endpoints_are_possible(&description, fds)) {
        run_event_fail(&run->event, RUN_FAILURE_DESCRIPTION, ENOTSUP, "reach endpoints");
        return -1;
    }
    if (pool_answer_question(pool, &description, &run->event))
        return -1;
    run->limits = description.limits;
    run->session = description.session;
    run->waiting.limit_us = description.tools_wait_ms * 1000;
    run->has_checkpoints = description.session.checkpoints > 0;
    run->evidence.cpu_limit_ms = description.limits.cpu_ms;
    run->outlives_first = description.isolation != RUN_ISOLATION_SANDBOX;
    struct launch_failure failure;
    int result = description.isolation == RUN_ISOLATION_NONE
                     ? start_unconfined(run, pool, &description, fds, &failure)
                     : start_sandbox(run, pool, &description, fds, &failure);
    if (result < 0)
        fail_launch(run, &failure);
    return result;
}

struct run *run_start(struct pool *pool, uint32_t slot, const int fds[RUN_FD_COUNT],
                      struct sandbox_handle **ret_failed)
{
    struct run *run = calloc(1, sizeof(*run));
    *ret_failed = NULL;
    if (!run) {
        run_refuse(fds, ENOMEM, "no memory for the run");
        return NULL;
    }
    run->slot = slot;
    run->event.type = RUN_EVENT_ENDED;
    run->event.exit_code = -1;
    run->started_us = monotonic_us();
    run->deadline_us = run->started_us + START_LIMIT_US;
    if (start_process(run, pool, fds) < 0) {
        run_event_send(fds[RUN_FD_EVENTS], &run->event);
        run_fds_close(fds);
        *ret_failed = run->process;
        free(run);
        return NULL;
    }
    run->socket = fds[RUN_FD_EVENTS];
    for (int i = 0; i < RUN_FD_COUNT; i++)
        if (i != RUN_FD_EVENTS)
            close_fd(fds[i]);
    return run;
}
