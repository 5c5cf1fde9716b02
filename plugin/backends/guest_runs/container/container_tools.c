/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what goes from sockets of the run over the attached stream (answers to calls of tools, and
 * connections to endpoints), and the frames that only the guest of such a run sends. Runs in a
 * backend of containers. */
#include <errno.h>

#include "backends/guest_runs/container/container.h"
#include "base/cleanup.h"
#include "protocol/wire.h"

static bool takes_bytes(const struct container *container)
{
    const struct container_job *job = container->job;
    return job && job->started && !job->sends && job->order_count == 0 && !container->ordered &&
           !container->end.reported && !container->removing;
}

int container_sender_socket(const struct container *container, enum job_sender which)
{
    return takes_bytes(container) ? socket_sender_socket(&container->job->senders[which]) : -1;
}

/* The one whose order is under way; NULL: none is. */
static struct socket_sender *busy_sender(const struct container *container)
{
    for (size_t i = 0; container->job && i < JOB_SENDERS; i++)
        if (socket_sender_is_busy(&container->job->senders[i]))
            return &container->job->senders[i];
    return NULL;
}

bool container_is_sending(const struct container *container)
{
    return busy_sender(container);
}

bool container_send_rest(struct container *container)
{
    struct socket_sender *sender;
    while ((sender = busy_sender(container))) {
        const struct message_piece rest = socket_sender_rest(sender);
        ssize_t count =
            container->environment->provider->form->send(container, rest.bytes, rest.length);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return false;
        if (count < 0) /* the receiving side meets the end */
            socket_sender_stop(sender);
        else
            socket_sender_take(sender, (size_t)count);
    }
    return true;
}

/* true: it has had something. */
static bool pass_on(struct container *container, enum job_sender which)
{
    return takes_bytes(container) && socket_sender_fill(&container->job->senders[which]);
}

void container_pass_sockets_on(struct container *container)
{
    for (size_t i = 0; i < JOB_SENDERS; i++)
        while (pass_on(container, (enum job_sender)i))
            if (!container_send_rest(container))
                return;
}

static bool take_told(struct socket_sender *answers, const struct guest_piece *said)
{
    struct wire_reader reader = {.bytes = said->bytes, .length = said->length};
    uint32_t count = wire_get_u32(&reader);
    return !reader.failed && reader.offset == said->length && socket_sender_told(answers, count);
}

static bool take_measure(const struct container *container, const struct guest_piece *said)
{
    struct guest_measure measure;
    return guest_measure_read(said->bytes, said->length, &measure) &&
           container->environment->events->measured(container->job->run, &measure);
}

bool container_tools_take(struct container *container, const struct guest_piece *said, bool *ret)
{
    if (said->kind != GUEST_ANSWERS_TAKEN && said->kind != GUEST_MEASURED)
        return false;
    if (!container->job) /* the program does not read it any more */
        *ret = true;
    else if (said->kind == GUEST_MEASURED)
        *ret = take_measure(container, said);
    else
        *ret = take_told(&container->job->senders[JOB_ANSWERS], said);
    return true;
}
