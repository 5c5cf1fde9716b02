/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the connections of gateways and the table of their runs: see gateways.h. */
#include "backends/worker/gateways.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/common/run_answer.h"
#include "backends/remote/link/remote_frame.h"
#include "backends/worker/address.h"
#include "backends/worker/journal.h"
#include "backends/worker/run_rewrite.h"
#include "base/cleanup.h"
#include "base/string_list.h"

#define ADDRESS_TEXT       64
#define HANDSHAKE_US       (UINT64_C(10) * 1000000)
#define HANDSHAKE_LEAST_US (UINT64_C(1) * 1000000) /* before another takes its place */
#define ACCEPTS_AT_ONCE    16
#define ACCEPT_PAUSE_MS    100                       /* where there are no descriptors */
#define ARRIVAL_US         (UINT64_C(600) * 1000000) /* for the bytes of an accepted run */
#define LOOK_US            (UINT64_C(1) * 1000000)   /* between two looks for such runs */
#define STRANGERS_LINES    20                        /* in a second */

/* A run from its offer to its end. */
struct worker_run {
    uint32_t channel;
    struct remote_offer offer;
    uint64_t since_us;
    bool has_arrived;
    bool is_described;
    bool is_refused; /* by its description */
    bool has_ended;  /* and has no place any more */
    struct error refusal;
    struct worker_run *next;
};

struct gateway {
    struct gateways *all;
    struct link *link;
    struct watch watch;
    bool is_ready;
    uint64_t since_us;
    char address[ADDRESS_TEXT];
    struct worker_run *runs;
    struct gateway *next;
};

static struct worker_run **find_run(struct gateway *gateway, uint32_t channel)
{
    struct worker_run **run = &gateway->runs;
    while (*run && (*run)->channel != channel)
        run = &(*run)->next;
    return run;
}

static void tell_capacity(const struct gateways *all)
{
    struct remote_capacity capacity = worker_admission_capacity(all->admission);
    for (struct gateway *gateway = all->first; gateway; gateway = gateway->next)
        if (gateway->is_ready)
            link_send_capacity(gateway->link, &capacity);
}

static void on_ready(void *user, struct link *link, const struct remote_hello *peer)
{
    struct gateway *gateway = user;
    struct gateways *all = gateway->all;
    const struct remote_capacity capacity = worker_admission_capacity(all->admission);
    gateway->is_ready = true;
    all->handshakes--;
    journal_write("connected", (const struct journal_field[]){{"gateway", link_peer_name(link), 0},
                                                              {"name", peer->name, 0},
                                                              {"address", gateway->address, 0},
                                                              {0}});
    link_send_capacity(link, &capacity);
    if (all->admission->drains)
        link_send_drain(link);
}

static struct remote_answer judge(struct gateways *all, const struct remote_offer *offer)
{
    const struct remote_answer *problem = all->admission->drains ? NULL : all->problem(all->user);
    return problem ? *problem : worker_admission_judge(all->admission, offer);
}

static void on_offered(void *user, struct link *link, uint32_t channel,
                       const struct remote_offer *offer)
{
    struct gateway *gateway = user;
    struct gateways *all = gateway->all;
    CLEANUP_FREE struct worker_run *run = calloc(1, sizeof(*run));
    struct remote_answer answer = {.verdict = REMOTE_BUSY,
                                   .retry_after_ms = WORKER_RETRY_MINIMUM_MS,
                                   .reason = "the worker has no memory for the run"};
    if (run)
        answer = judge(all, offer);
    all->counts.answers[answer.verdict]++;
    if (run && answer.verdict == REMOTE_ACCEPTED) {
        *run = (struct worker_run){
            .channel = channel, .offer = *offer, .since_us = monotonic_us(), .next = gateway->runs};
        gateway->runs = TAKE_POINTER(run);
        tell_capacity(all);
    }
    link_answer(link, channel, &answer);
}

/* false would lose the reason: the run arrives, and is answered then. A second description would
 * speak for the first one, which is what runs. */
static bool on_describe(void *user, struct link *link __attribute__((unused)), uint32_t channel,
                        unsigned char **bytes, size_t *length)
{
    struct gateway *gateway = user;
    struct worker_run *run = *find_run(gateway, channel);
    if (!run || run->is_described)
        return false;
    run->is_described = true;
    run->is_refused =
        !run_rewrite(gateway->all->configuration, &run->offer, bytes, length, &run->refusal);
    return true;
}

/* false, for the caller to return. */
static bool note_refusal(const struct gateway *gateway, const struct error *error)
{
    gateway->all->counts.refused_runs++;
    journal_write("refused",
                  (const struct journal_field[]){{"gateway", link_peer_name(gateway->link), 0},
                                                 {"code", error_code_name(error->code), 0},
                                                 {"reason", error->message, 0},
                                                 {0}});
    return false;
}

static bool on_describe_further(void *user, struct link *link __attribute__((unused)),
                                uint32_t channel, unsigned char **bytes, size_t *length)
{
    const struct gateway *gateway = user;
    const struct worker_run *run = *find_run(user, channel);
    struct error error;
    return run &&
           (run_rewrite_further(gateway->all->configuration, &run->offer, bytes, length, &error) ||
            note_refusal(gateway, &error));
}

static void refuse_run(struct gateway *gateway, int events, const struct error *error)
{
    struct run_event event = {.type = RUN_EVENT_ENDED, .problem_code = error->code};
    run_event_fail(&event, RUN_FAILURE_BACKEND, 0, error->message);
    (void)snprintf(event.remedy, sizeof(event.remedy), "%.383s", error->hint);
    run_event_send(events, &event);
    (void)note_refusal(gateway, error);
}

static void on_arrived(void *user, struct link *link __attribute__((unused)), uint32_t channel,
                       int fds[RUN_FD_COUNT])
{
    struct gateway *gateway = user;
    struct worker_run *run = *find_run(gateway, channel);
    struct error error;
    if (run)
        run->has_arrived = true;
    if (run && run->is_refused)
        refuse_run(gateway, fds[RUN_FD_EVENTS], &run->refusal);
    else if (run && !local_backend_start_run(gateway->all->backend, fds, &error))
        refuse_run(gateway, fds[RUN_FD_EVENTS], &error);
    run_fds_close(fds);
}

static void give_place_back(struct gateways *all, struct worker_run *run)
{
    uint64_t held_ms = (monotonic_us() - run->since_us) / 1000;
    if (run->has_ended)
        return;
    run->has_ended = true;
    worker_admission_release(all->admission, &run->offer, held_ms);
    all->counts.ended_runs++;
    all->counts.ended_runs_ms += held_ms;
}

/* Takes it out of the list of its gateway. */
static void end_run(struct gateway *gateway, struct worker_run **place)
{
    struct gateways *all = gateway->all;
    CLEANUP_FREE struct worker_run *run = *place;
    *place = run->next;
    give_place_back(all, run);
    worker_admission_forget(all->admission, &run->offer);
}

/* Its place is free before the gateway hears of its end, so a caller that has its result may send
 * the next call at once. The link is in the middle of that event: capacity is told when it is not.
 */
static void on_told(void *user, struct link *link __attribute__((unused)), uint32_t channel,
                    const unsigned char *bytes, size_t length)
{
    struct gateway *gateway = user;
    struct worker_run *run = *find_run(gateway, channel);
    struct run_event event;
    if (!run || !run_event_decode(bytes, length, &event) || event.type != RUN_EVENT_ENDED)
        return;
    give_place_back(gateway->all, run);
    gateway->all->capacity_due = true;
}

static void on_run_over(void *user, struct link *link __attribute__((unused)), uint32_t channel)
{
    struct gateway *gateway = user;
    struct worker_run **place = find_run(gateway, channel);
    if (!*place)
        return;
    end_run(gateway, place);
    tell_capacity(gateway->all);
}

static const struct link_handler handler = {
    .ready = on_ready,
    .offered = on_offered,
    .arrived = on_arrived,
    .describe = on_describe,
    .describe_further = on_describe_further,
    .told = on_told,
    .run_over = on_run_over,
};

/* A stranger that connects must not be able to fill the log. */
static bool may_write_line(struct gateways *all)
{
    uint64_t second = monotonic_us() / 1000000;
    if (all->lines_second != second) {
        all->lines_second = second;
        all->lines = 0;
    }
    return ++all->lines <= STRANGERS_LINES;
}

/* Not from within link_handle(). */
static void forget(struct gateway *gateway, const char *reason)
{
    struct gateways *all = gateway->all;
    int64_t runs = 0;
    struct gateway **place = &all->first;
    while (*place != gateway)
        place = &(*place)->next;
    *place = gateway->next;
    all->count--;
    if (!gateway->is_ready)
        all->handshakes--;
    for (; gateway->runs; runs++)
        end_run(gateway, &gateway->runs);
    journal_write("disconnected",
                  (const struct journal_field[]){{"gateway", link_peer_name(gateway->link), 0},
                                                 {"address", gateway->address, 0},
                                                 {"reason", reason, 0},
                                                 {"runs", NULL, runs},
                                                 {0}});
    event_loop_unwatch(all->loop, &gateway->watch);
    link_free(gateway->link);
    free(gateway);
    if (runs > 0)
        tell_capacity(all);
}

/* false: the connection is over, and forgotten. */
static bool handle(struct gateway *gateway)
{
    if (link_handle(gateway->link, monotonic_us()))
        return true;
    forget(gateway, link_error(gateway->link)->message);
    return false;
}

static void on_link(struct watch *watch, uint32_t events)
{
    (void)events;
    (void)handle(CONTAINER_OF(watch, struct gateway, watch));
}

static void refuse_connection(struct gateways *all, const char *address, const char *reason)
{
    all->counts.refused_connections++;
    if (may_write_line(all))
        journal_write(
            "refused_connection",
            (const struct journal_field[]){{"address", address, 0}, {"reason", reason, 0}, {0}});
}

/* A stranger that only connects must not keep gateways out: the oldest that has not greeted gives
 * way. */
static bool make_room(struct gateways *all, uint64_t now_us)
{
    struct gateway *oldest = NULL;
    if (all->handshakes < HANDSHAKES_MOST)
        return true;
    for (struct gateway *gateway = all->first; gateway; gateway = gateway->next)
        if (!gateway->is_ready && (!oldest || gateway->since_us < oldest->since_us))
            oldest = gateway;
    if (!oldest || now_us - oldest->since_us < HANDSHAKE_LEAST_US)
        return false;
    forget(oldest, "others wait to greet");
    return true;
}

static struct remote_hello hello_of(const struct worker_configuration *configuration)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct remote_hello hello = {
        .link_version = REMOTE_LINK_VERSION,
        .protocol_version = PROTOCOL_VERSION,
        .memory_bytes = configuration->memory_total_bytes,
        .processors = processors < 1 ? 1 : (uint32_t)processors,
        .slots = configuration->max_runs,
    };
    (void)snprintf(hello.name, sizeof(hello.name), "%s", configuration->name);
    (void)snprintf(hello.mode, sizeof(hello.mode), "%s",
                   worker_mode_name((enum worker_mode)configuration->mode));
    return hello;
}

static void adopt(struct gateways *all, int fd, const char *address)
{
    const struct remote_hello hello = hello_of(all->configuration);
    const struct link_peer peer = {(const char *const *)all->configuration->gateways,
                                   string_list_count(all->configuration->gateways)};
    CLEANUP_FREE struct gateway *gateway = calloc(1, sizeof(*gateway));
    struct link *link = NULL;
    if (gateway)
        link = link_new(fd, all->context, true, &peer, &hello, &handler, gateway);
    else
        close_fd(fd);
    if (!link || !gateway) {
        refuse_connection(all, address, "no memory or descriptors");
        return;
    }
    *gateway = (struct gateway){
        .all = all,
        .link = link,
        .watch = {link_fd(link), on_link},
        .since_us = monotonic_us(),
        .next = all->first,
    };
    (void)snprintf(gateway->address, sizeof(gateway->address), "%s", address);
    if (event_loop_watch(all->loop, &gateway->watch, EPOLLIN) != 0) {
        link_free(link);
        refuse_connection(all, address, "no memory or descriptors");
        return;
    }
    all->first = TAKE_POINTER(gateway);
    all->count++;
    all->handshakes++;
    all->counts.connections++;
}

/* false: there is none. */
static bool accept_one(struct gateways *all)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof(peer);
    char address[ADDRESS_TEXT];
    int fd =
        accept4(all->listener.fd, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        /* The connection goes on waiting, and would wake the loop at once. */
        (void)event_loop_change(all->loop, &all->listener, 0);
        event_loop_after(all->loop, &all->pause, ACCEPT_PAUSE_MS);
        return false;
    }
    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED;
    socket_address_write(&peer, address, sizeof(address));
    if (all->count < GATEWAYS_MOST && make_room(all, monotonic_us())) {
        adopt(all, fd, address);
        return true;
    }
    close_fd(fd);
    refuse_connection(all, address, "too many connections");
    return true;
}

static void on_listener(struct watch *watch, uint32_t events)
{
    struct gateways *all = CONTAINER_OF(watch, struct gateways, listener);
    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(all); i++)
        continue;
}

/* gateways_settle() does the due work after this turn. */
static void on_time(struct timer *timer)
{
    (void)timer;
}

static void on_pause(struct timer *timer)
{
    struct gateways *all = CONTAINER_OF(timer, struct gateways, pause);
    if (all->listener.fd >= 0)
        (void)event_loop_change(all->loop, &all->listener, EPOLLIN);
}

bool gateways_open(struct gateways *gateways, struct error *error)
{
    char address[ADDRESS_TEXT];
    int listener = listen_address_open(gateways->configuration->listen, error);
    if (listener < 0)
        return false;
    gateways->listener = (struct watch){listener, on_listener};
    gateways->time = (struct timer){.fire = on_time};
    gateways->pause = (struct timer){.fire = on_pause};
    if (event_loop_watch(gateways->loop, &gateways->listener, EPOLLIN) != 0) {
        error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno, "cannot watch the listener");
        gateways->listener.fd = -1;
        close_fd(listener);
        return false;
    }
    listening_address_write(listener, address, sizeof(address));
    journal_write("listening", (const struct journal_field[]){{"address", address, 0}, {0}});
    return true;
}

/* Microseconds of CLOCK_MONOTONIC. */
static uint64_t deadline_of(const struct gateway *gateway)
{
    uint64_t deadline = link_deadline_us(gateway->link);
    uint64_t latest = gateway->since_us + HANDSHAKE_US;
    return !gateway->is_ready && latest < deadline ? latest : deadline;
}

static void settle_one(struct gateway *gateway, uint64_t now_us)
{
    if (!gateway->is_ready && now_us >= gateway->since_us + HANDSHAKE_US) {
        gateway->all->counts.refused_connections++;
        forget(gateway, "it has not greeted in time");
    } else if (now_us >= link_deadline_us(gateway->link)) {
        (void)handle(gateway);
    }
}

/* A run that was accepted and does not arrive keeps room that others could use. */
static void withdraw_absent(struct gateway *gateway, uint64_t now_us)
{
    for (const struct worker_run *run = gateway->runs; run; run = run->next)
        if (!run->has_arrived && now_us >= run->since_us + ARRIVAL_US)
            link_withdraw(gateway->link, run->channel);
}

static void look_for_absent(struct gateways *gateways, uint64_t now_us)
{
    if (now_us < gateways->look_us)
        return;
    gateways->look_us = now_us + LOOK_US;
    for (struct gateway *gateway = gateways->first; gateway; gateway = gateway->next)
        withdraw_absent(gateway, now_us);
}

void gateways_settle(struct gateways *gateways)
{
    uint64_t now = monotonic_us();
    uint64_t first = UINT64_MAX;
    while (gateways->capacity_due) { /* a link that sends it may pass on another end */
        gateways->capacity_due = false;
        tell_capacity(gateways);
    }
    look_for_absent(gateways, now);
    for (struct gateway *gateway = gateways->first, *next; gateway; gateway = next) {
        next = gateway->next;
        if (now >= deadline_of(gateway))
            settle_one(gateway, now);
    }
    for (const struct gateway *gateway = gateways->first; gateway; gateway = gateway->next)
        if (deadline_of(gateway) < first)
            first = deadline_of(gateway);
    if (first != UINT64_MAX)
        event_loop_after(gateways->loop, &gateways->time,
                         first > now ? (first - now + 999) / 1000 : 0);
}

static void stop_listening(struct gateways *gateways)
{
    int listener = gateways->listener.fd;
    event_loop_unwatch(gateways->loop, &gateways->listener);
    event_loop_cancel(gateways->loop, &gateways->pause);
    close_fd(listener);
}

void gateways_drain(struct gateways *gateways)
{
    gateways->admission->drains = true;
    stop_listening(gateways);
    for (struct gateway *gateway = gateways->first; gateway; gateway = gateway->next)
        if (gateway->is_ready)
            link_send_drain(gateway->link);
}

void gateways_close(struct gateways *gateways, const char *reason)
{
    stop_listening(gateways);
    while (gateways->first) {
        struct gateway *gateway = gateways->first;
        link_close(gateway->link, reason);
        forget(gateway, reason);
    }
    event_loop_cancel(gateways->loop, &gateways->time);
}
