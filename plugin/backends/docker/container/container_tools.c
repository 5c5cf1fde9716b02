/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the answers to calls of tools on the attached stream, and what the guest of such a run says
 * beside others. Runs in the docker backend. */
#include <errno.h>

#include "backends/docker/container/container.h"
#include "base/cleanup.h"
#include "protocol/wire.h"

static bool takes_answers(const struct container *container)
{
    const struct container_job *job = container->job;
    return job && job->started && !job->sends && job->order_count == 0 && !container->ordered &&
           !container->end.reported && !container->removing;
}

int container_answers_socket(const struct container *container)
{
    return takes_answers(container) ? answer_sender_socket(&container->job->answers) : -1;
}

bool container_has_answers(const struct container *container)
{
    return container->job && answer_sender_is_busy(&container->job->answers);
}

bool container_send_answers(struct container *container)
{
    while (container_has_answers(container)) {
        struct answer_sender *answers = &container->job->answers;
        const struct message_piece rest = answer_sender_rest(answers);
        ssize_t count =
            engine_connection_send(container->stream.connection, rest.bytes, rest.length);
        if (count == 0 || (count < 0 && errno == EAGAIN))
            return false;
        if (count < 0) /* the receiving side meets the end */
            answer_sender_stop(answers);
        else
            answer_sender_take(answers, (size_t)count);
    }
    return true;
}

void container_pass_answers_on(struct container *container)
{
    while (takes_answers(container) && answer_sender_fill(&container->job->answers))
        if (!container_send_answers(container))
            return;
}

static bool take_told(struct answer_sender *answers, const struct guest_piece *said)
{
    struct wire_reader reader = {.bytes = said->bytes, .length = said->length};
    uint32_t count = wire_get_u32(&reader);
    return !reader.failed && reader.offset == said->length && answer_sender_told(answers, count);
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
    if (!container->job) /* nobody has use for it any more */
        *ret = true;
    else if (said->kind == GUEST_MEASURED)
        *ret = take_measure(container, said);
    else
        *ret = take_told(&container->job->answers, said);
    return true;
}
