/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the frames that only the guest of a session sends, and the orders to it. Runs in a backend
 * of containers. */
#include <stdio.h>

#include "backends/guest_runs/container/container.h"
#include "base/cleanup.h"

bool container_send_order(struct container *container, char order)
{
    struct container_job *job = container->job;
    if (job->order_count == COUNT_OF(job->orders))
        return false;
    job->orders[job->order_count++] = order;
    return true;
}

void container_send_message(struct container *container)
{
    container->stream.sender = (struct message_sender){.over = false};
    container->job->sends = true;
}

static void change_pipe(struct container_job *job, enum job_pipe which, int fd)
{
    close_fd(job->pipes[which]);
    job->pipes[which] = fd;
}

/* The output that follows belongs to the cell whose message was sent last. */
static bool begin_cell(struct container_job *job)
{
    if (job->sends || job->next[JOB_STDOUT] < 0)
        return false;
    change_pipe(job, JOB_LATE_STDOUT, TAKE_FD(job->pipes[JOB_STDOUT]));
    change_pipe(job, JOB_LATE_STDERR, TAKE_FD(job->pipes[JOB_STDERR]));
    for (size_t i = JOB_STDOUT; i <= JOB_RESULTS; i++)
        change_pipe(job, i, TAKE_FD(job->next[i]));
    return true;
}

/* The answer to the order to start another interpreter. */
static bool take_added(const struct container *container, enum run_failure failure,
                       const struct guest_piece *said)
{
    struct container_job *job = container->job;
    char message[160];
    if (!job->adds)
        return false;
    job->adds = false;
    (void)snprintf(message, sizeof(message), "%.*s", (int)said->length, (const char *)said->bytes);
    container->environment->events->added(job->run, failure, message);
    return true;
}

static bool take_restored(const struct container *container, const struct guest_piece *said)
{
    struct guest_end ended;
    bool is_restored = said->kind == GUEST_RESTORED;
    if (is_restored && !guest_end_read(said->bytes, said->length, &ended))
        return false;
    container->environment->events->restored(container->job->run, is_restored ? &ended : NULL);
    return true;
}

static bool take_parked(const struct container *container, const struct guest_piece *said)
{
    if (said->length != 1 || said->bytes[0] >= CHECKPOINT_WORD_COUNT)
        return false;
    container->environment->events->parked(container->job->run,
                                           (enum checkpoint_word)said->bytes[0]);
    return true;
}

bool container_session_take(struct container *container, const struct guest_piece *said, bool *ret)
{
    struct container_job *job = container->job;
    if (!job || !job->session)
        return false;
    *ret = true;
    if (said->kind == GUEST_CELL)
        *ret = begin_cell(job);
    else if (said->kind == GUEST_RESTORED || said->kind == GUEST_NOT_RESTORED)
        *ret = take_restored(container, said);
    else if (said->kind == GUEST_PARKED)
        *ret = take_parked(container, said);
    else if (said->kind == GUEST_COLLECTED)
        change_pipe(job, JOB_FILES, -1);
    else if (said->kind == GUEST_FILES)
        container->stream.output = *said;
    else if (said->kind == GUEST_STARTED)
        *ret = take_added(container, RUN_FAILURE_NONE, said);
    else if (said->kind == GUEST_MISSING)
        *ret = take_added(container, RUN_FAILURE_RUNTIME_MISSING, said);
    else if (said->kind == GUEST_FAILED)
        *ret = take_added(container, RUN_FAILURE_INTERNAL, said);
    else
        return false;
    return true;
}
