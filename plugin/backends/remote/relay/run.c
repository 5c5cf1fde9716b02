/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the runs of a link, from their offer until nothing is left of them: see relay.h. Runs in
 * code-execute-remote and code-execute-worker. */
#include <string.h>

#include "backends/remote/relay/relay.h"
#include "backends/remote/relay/run_orders.h"
#include "base/cleanup.h"

static void free_run(struct run **run)
{
    free(*run);
}

static struct run *run_new(struct link *link, uint32_t number)
{
    CLEANUP(free_run) struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    *run = (struct run){.link = link, .number = number, .next = link->runs};
    run->channel = channel_new(run, number, REMOTE_DATAGRAMS, RUN_FD_EVENTS);
    if (!run->channel)
        return NULL;
    if (link->runs)
        link->runs->previous = run;
    link->runs = run;
    link->run_count++;
    link->offer_count++;
    link->last_number = number;
    return TAKE_POINTER(run);
}

static void set_state(struct run *run, enum run_state state)
{
    if (run->state == RUN_OFFERED)
        run->link->offer_count--;
    run->state = state;
}

void run_end(struct run *run)
{
    struct link *link = run->link;
    set_state(run, RUN_GONE);
    if (run->previous)
        run->previous->next = run->next;
    else
        link->runs = run->next;
    if (run->next)
        run->next->previous = run->previous;
    link->run_count--;
    run->next = link->over;
    link->over = run;
}

void run_tell_over(struct link *link)
{
    while (link->over) {
        struct run *run = link->over;
        uint32_t number = run->number;
        bool is_told = run->is_told;
        link->over = run->next;
        free(run);
        if (is_told && link->handler->run_over)
            link->handler->run_over(link->user, link, number);
    }
}

static struct run *run_of(const struct link *link, uint32_t number)
{
    struct channel *channel = channel_find(link, number);
    return channel && channel->run->number == number ? channel->run : NULL;
}

uint32_t run_offer(struct link *link, const struct remote_offer *offer)
{
    unsigned char payload[REMOTE_MESSAGE_LIMIT];
    if (link->is_draining || link->run_count >= REMOTE_RUNS_LIMIT ||
        link->offer_count >= REMOTE_OFFERS_LIMIT || link->last_number == UINT32_MAX)
        return 0;
    struct run *run = run_new(link, link->last_number + 1);
    if (!run)
        return 0;
    connection_put(link->connection, REMOTE_OFFER, run->number, payload,
                   remote_offer_encode(offer, payload));
    return run->number;
}

bool run_take_offer(struct link *link, uint32_t number, const unsigned char *payload, size_t length)
{
    struct remote_offer offer;
    if (!link->is_server || number <= link->last_number || link->run_count >= REMOTE_RUNS_LIMIT ||
        link->offer_count >= REMOTE_OFFERS_LIMIT || !remote_offer_decode(payload, length, &offer))
        return connection_break(link->connection, "an offer that cannot be");
    struct run *run = run_new(link, number);
    if (!run)
        return connection_break(link->connection, "no memory for a run, or too many channels");
    run->is_told = true;
    link->handler->offered(link->user, link, number, &offer);
    return true;
}

void run_answer(struct link *link, uint32_t number, const struct remote_answer *answer)
{
    unsigned char payload[REMOTE_MESSAGE_LIMIT];
    struct run *run = run_of(link, number);
    if (!run || run->state != RUN_OFFERED || !run->channel || run->channel->end_sent)
        return;
    bool is_accepted = answer->verdict == REMOTE_ACCEPTED;
    set_state(run, is_accepted ? RUN_ACCEPTED : RUN_GONE);
    run->is_told = is_accepted;
    connection_put(link->connection, REMOTE_ANSWER, number, payload,
                   remote_answer_encode(answer, payload));
    if (!is_accepted)
        channel_end(run->channel, REMOTE_END);
}

bool run_take_answer(struct link *link, uint32_t number, const unsigned char *payload,
                     size_t length)
{
    struct remote_answer answer;
    struct run *run = run_of(link, number);
    if (link->is_server || !run || !remote_answer_decode(payload, length, &answer) ||
        (run->state != RUN_OFFERED && run->state != RUN_GONE) || run->is_answered)
        return connection_break(link->connection, "an answer that cannot be");
    run->is_answered = true;
    if (run->state == RUN_GONE) /* withdrawn meanwhile */
        return true;
    run->is_told = answer.verdict == REMOTE_ACCEPTED;
    set_state(run, run->is_told ? RUN_ACCEPTED : RUN_GONE);
    if (link->handler->answered)
        link->handler->answered(link->user, link, number, &answer);
    return true;
}

static bool send_run(struct link *link, struct run *run, int fds[RUN_FD_COUNT])
{
    struct remote_datagram datagram;
    struct channel *channel = run->channel;
    const size_t head = REMOTE_DATAGRAM_HEAD(RUN_ATTACHMENTS);
    if (!attachments_give(run, &fds[RUN_FD_DESCRIPTION], RUN_ATTACHMENTS, &datagram))
        return false;
    run->begins_at = connection_added(link->connection);
    unsigned char *room = connection_room(link->connection, head + 1);
    if (!room)
        return false;
    remote_datagram_put_head(room, &datagram);
    room[head] = CONTROL_RUN;
    connection_commit(link->connection, REMOTE_DATAGRAM, run->number, head + 1);
    channel->allowance -= datagram_cost(head + 1, RUN_ATTACHMENTS);
    run->state = RUN_SENT;
    if (!channel_watch(channel, TAKE_FD(fds[RUN_FD_EVENTS])))
        channel_reset(channel);
    else
        channel_make_due(channel);
    return true;
}

bool run_send(struct link *link, uint32_t number, int fds[RUN_FD_COUNT])
{
    struct run *run = run_of(link, number);
    bool can = run && run->state == RUN_ACCEPTED && run->channel && !run->channel->end_seen &&
               !run->channel->end_sent && !connection_is_over(link->connection);
    bool is_sent = can && send_run(link, run, fds);
    for (size_t i = 0; i < RUN_FD_COUNT; i++)
        close_fd(TAKE_FD(fds[i]));
    if (!is_sent)
        run_withdraw(link, number);
    return is_sent;
}

bool run_begun(const struct link *link, uint32_t number)
{
    const struct run *run = run_of(link, number);
    /* An unknown number was a run that is over. */
    if (!run)
        return true;
    return run->state == RUN_SENT && connection_sent(link->connection) > run->begins_at;
}

void run_withdraw(struct link *link, uint32_t number)
{
    struct run *run = run_of(link, number);
    if (!run)
        return;
    if (link->is_handling) {
        run->withdraw_due = link->withdraw_due = true;
        return;
    }
    if (run->state != RUN_SENT)
        set_state(run, RUN_GONE);
    if (run->channel)
        channel_reset(run->channel);
}

void run_withdraw_due(struct link *link)
{
    while (link->withdraw_due) {
        struct run *run = link->runs;
        while (run && !run->withdraw_due)
            run = run->next;
        if (!run) {
            link->withdraw_due = false;
            return;
        }
        run->withdraw_due = false;
        run_withdraw(link, run->number);
    }
}
