/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a worker's connection: see worker.h. Runs in code-execute-remote. */
#include "backends/remote/client/worker.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/common/run_answer.h"
#include "backends/remote/link/remote_frame.h"
#include "base/cleanup.h"

#define REST_FIRST_MS 100
#define REST_MOST_MS  5000
#define ATTEMPT_MS    5000 /* from the first packet until both sides have greeted */
#define FOREVER_MS    3600000

static void rest(struct worker *worker);

/* Its runs are told, from the first to the last; each takes itself off the list. */
static void lose_runs(struct worker *worker, const char *why)
{
    while (worker->assignments) {
        struct assignment *assignment = worker->assignments;
        bool begun = worker->link && link_run_begun(worker->link, assignment->channel);
        worker->assignments = assignment->next;
        worker->assigned--;
        assignment->worker = NULL;
        assignment->lost(assignment, begun, why);
    }
}

static void close_link(struct worker *worker)
{
    event_loop_unwatch(worker->context->loop, &worker->watch);
    link_free(TAKE_POINTER(worker->link));
    tls_context_free(TAKE_POINTER(worker->tls));
    worker->capacity = (struct remote_capacity){.slots = 0};
    worker->draining = false;
}

/* Ends the attempt or the connection; error has the reason. The runs are told last: they may ask
 * for another worker, which this one is not any more. */
static void fail(struct worker *worker)
{
    struct link *link = worker->link;
    event_loop_cancel(worker->context->loop, &worker->limit);
    resolver_forget(&worker->question);
    worker->settled_us = monotonic_us();
    worker->woken = false;
    worker->state = WORKER_RESTING;
    if (link) {
        char why[256];
        (void)snprintf(why, sizeof(why), "%.250s", worker->error.message);
        event_loop_unwatch(worker->context->loop, &worker->watch);
        lose_runs(worker, why);
    }
    close_link(worker);
    rest(worker);
    worker->context->changed(worker->context->user);
}

static void fail_with(struct worker *worker, const char *message)
{
    error_set(&worker->error, ERROR_BACKEND_UNAVAILABLE, "%s", message);
    fail(worker);
}

/* The time of the connection's own deadline, at the latest. */
static void arm(struct worker *worker, bool at_once)
{
    uint64_t now = monotonic_us();
    uint64_t due = at_once ? now : link_deadline_us(worker->link);
    uint64_t wait_ms = due > now ? (due - now + 999) / 1000 : 0;
    event_loop_after(worker->context->loop, &worker->timer,
                     wait_ms < FOREVER_MS ? wait_ms : FOREVER_MS);
}

static void handle(struct worker *worker)
{
    worker->handling = true;
    bool alive = link_handle(worker->link, monotonic_us());
    worker->handling = false;
    if (alive && worker->unfit) {
        fail(worker); /* it has greeted, and is no worker for us */
        return;
    }
    if (alive) {
        arm(worker, false);
        return;
    }
    worker->error = *link_error(worker->link);
    fail(worker);
}

static void link_ready(struct watch *watch, uint32_t events __attribute__((unused)))
{
    handle(CONTAINER_OF(watch, struct worker, watch));
}

static void attempt_late(struct timer *timer)
{
    struct worker *worker = CONTAINER_OF(timer, struct worker, limit);
    fail_with(worker, worker->state == WORKER_RESOLVING
                          ? "its name is not resolved in time"
                          : "the connection is not made in time: nothing answers there");
}

/* Handler of the link. */

static void greeted(void *user, struct link *link __attribute__((unused)),
                    const struct remote_hello *peer)
{
    struct worker *worker = user;
    worker->peer = *peer;
    if (strcmp(peer->mode, worker->context->mode) != 0) {
        error_set(&worker->error, ERROR_BACKEND_UNAVAILABLE,
                  "the worker's mode is %.31s, and the policy wants %s", peer->mode,
                  worker->context->mode);
        error_set_hint(&worker->error, "let \"mode\" in the worker's configuration and "
                                       "\"remote.mode\" in the policy say the same");
        worker->unfit = true;
        return;
    }
    event_loop_cancel(worker->context->loop, &worker->limit);
    worker->error.message[0] = '\0';
    worker->state = WORKER_USABLE;
    worker->settled_us = monotonic_us();
    worker->woken = false;
    worker->rest_ms = 0;
    worker->capacity = (struct remote_capacity){.slots = peer->slots};
    worker->context->changed(worker->context->user);
}

static struct assignment **find(struct worker *worker, uint32_t channel)
{
    struct assignment **place = &worker->assignments;
    while (*place && (*place)->channel != channel)
        place = &(*place)->next;
    return place;
}

static void take_off(struct worker *worker, struct assignment **place)
{
    struct assignment *assignment = *place;
    if (!assignment)
        return;
    *place = assignment->next;
    assignment->next = NULL;
    worker->assigned--;
}

static void answered(void *user, struct link *link __attribute__((unused)), uint32_t channel,
                     const struct remote_answer *answer)
{
    struct worker *worker = user;
    struct assignment **place = find(worker, channel);
    struct assignment *assignment = *place;
    worker->draining |= answer->verdict == REMOTE_DRAINING;
    if (!assignment)
        return;
    if (answer->verdict != REMOTE_ACCEPTED) {
        take_off(worker, place);
        assignment->worker = NULL;
    }
    assignment->answered(assignment, answer);
}

static void capacity_told(void *user, struct link *link __attribute__((unused)),
                          const struct remote_capacity *capacity)
{
    struct worker *worker = user;
    worker->capacity = *capacity;
    if (capacity->runs < capacity->slots)
        worker->context->has_room(worker->context->user, worker);
}

static void drains(void *user, struct link *link __attribute__((unused)))
{
    ((struct worker *)user)->draining = true;
}

/* The run itself gets its end from its events. */
static void run_over(void *user, struct link *link __attribute__((unused)), uint32_t channel)
{
    struct worker *worker = user;
    struct assignment **place = find(worker, channel);
    if (*place) {
        (*place)->worker = NULL;
        take_off(worker, place);
    }
}

static const struct link_handler handler = {
    .ready = greeted,
    .answered = answered,
    .capacity = capacity_told,
    .draining = drains,
    .run_over = run_over,
};

static void name_self(struct remote_hello *ret)
{
    *ret = (struct remote_hello){.link_version = REMOTE_LINK_VERSION,
                                 .protocol_version = PROTOCOL_VERSION};
    if (gethostname(ret->name, sizeof(ret->name) - 1) != 0)
        ret->name[0] = '\0';
}

/* The files are read for each connection, so that new certificates count from the next one on. */
static bool open_link(struct worker *worker, int fd)
{
    const char *const names[] = {worker->place.name};
    const struct link_peer peer = {names, COUNT_OF(names)};
    struct remote_hello self;
    CLEANUP_CLOSE int owned = fd;
    name_self(&self);
    worker->tls = tls_context_new(false, &worker->context->files, &worker->error);
    if (!worker->tls)
        return false;
    worker->link = link_new(TAKE_FD(owned), worker->tls, false, &peer, &self, &handler, worker);
    if (!worker->link) {
        error_set(&worker->error, ERROR_BACKEND_UNAVAILABLE, "no memory for the connection");
        return false;
    }
    worker->watch = (struct watch){.fd = link_fd(worker->link), .ready = link_ready};
    if (event_loop_watch(worker->context->loop, &worker->watch, EPOLLIN) == 0)
        return true;
    error_set_errno(&worker->error, ERROR_BACKEND_UNAVAILABLE, errno, "cannot wait for it");
    return false;
}

static void handle_now(struct timer *timer)
{
    handle(CONTAINER_OF(timer, struct worker, timer));
}

static void connect_to(struct question *question, const struct resolved *resolved)
{
    struct worker *worker = CONTAINER_OF(question, struct worker, question);
    if (resolved->count == 0) {
        error_set(&worker->error, ERROR_BACKEND_UNAVAILABLE, "its address %.150s is not found: %s",
                  worker->place.address, resolved->reason);
        fail(worker);
        return;
    }
    uint32_t i = worker->attempts++ % resolved->count;
    const struct sockaddr *address = (const void *)&resolved->addresses[i].address;
    CLEANUP_CLOSE int fd =
        socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        (connect(fd, address, resolved->addresses[i].length) != 0 && errno != EINPROGRESS)) {
        error_set_errno(&worker->error, ERROR_BACKEND_UNAVAILABLE, errno,
                        "cannot connect to %.150s", worker->place.address);
        fail(worker);
        return;
    }
    worker->state = WORKER_CONNECTING;
    worker->unfit = false;
    if (!open_link(worker, TAKE_FD(fd))) {
        fail(worker);
        return;
    }
    worker->timer.fire = handle_now;
    arm(worker, true);
}

static void begin(struct timer *timer)
{
    struct worker *worker = CONTAINER_OF(timer, struct worker, timer);
    struct remote_address address;
    if (!worker->listed)
        return;
    worker->state = WORKER_RESOLVING;
    worker->question.answered = connect_to;
    worker->limit.fire = attempt_late;
    event_loop_after(worker->context->loop, &worker->limit, ATTEMPT_MS);
    if (!remote_address_parse(worker->place.address, &address) ||
        !resolver_ask(worker->context->resolver, &worker->question, &address))
        fail_with(worker, "its name cannot be resolved now");
}

/* Doubled each time, with a random part, so that gateways that lost the same worker do not
 * reconnect at the same time. */
static void rest(struct worker *worker)
{
    uint32_t chance = 0;
    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != (ssize_t)sizeof(chance))
        chance = (uint32_t)monotonic_us();
    worker->rest_ms = worker->rest_ms == 0 ? REST_FIRST_MS : worker->rest_ms * 2;
    if (worker->rest_ms > REST_MOST_MS)
        worker->rest_ms = REST_MOST_MS;
    worker->timer.fire = begin;
    event_loop_after(worker->context->loop, &worker->timer,
                     worker->rest_ms / 2 + chance % (worker->rest_ms / 2 + 1));
}

struct worker *worker_new(const struct worker_context *context, uint64_t id,
                          const struct remote_place *place)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL;
    worker->context = context;
    worker->id = id;
    worker->place = *place;
    worker->listed = true;
    worker->woken = true;
    worker->watch.fd = -1;
    worker->timer.fire = begin;
    event_loop_after(context->loop, &worker->timer, 0);
    return worker;
}

void worker_free(struct worker *worker, const char *why)
{
    worker->listed = false;
    resolver_forget(&worker->question);
    lose_runs(worker, why);
    if (worker->link)
        link_close(worker->link, why);
    close_link(worker);
    event_loop_cancel(worker->context->loop, &worker->timer);
    event_loop_cancel(worker->context->loop, &worker->limit);
    free(worker);
}

bool worker_is_usable(const struct worker *worker)
{
    return worker->state == WORKER_USABLE && worker->listed && !worker->draining;
}

bool worker_is_coming(const struct worker *worker)
{
    return worker->listed && worker->state != WORKER_USABLE &&
           (worker->state != WORKER_RESTING || worker->woken);
}

void worker_wake(struct worker *worker)
{
    uint64_t now = monotonic_us();
    if (worker->state != WORKER_RESTING || worker->woken || !worker->listed)
        return;
    uint64_t rested_ms = (now - worker->settled_us) / 1000;
    worker->woken = true;
    event_loop_after(worker->context->loop, &worker->timer,
                     rested_ms < REST_FIRST_MS ? REST_FIRST_MS - rested_ms : 0);
}

struct candidate worker_candidate(const struct worker *worker)
{
    /* The worker's count is older than the offers on their way to it, and includes the runs of
     * other gateways. */
    uint32_t runs =
        worker->assigned > worker->capacity.runs ? worker->assigned : worker->capacity.runs;
    return (struct candidate){worker->id, runs, worker->capacity.slots};
}

void worker_details(const struct worker *worker, struct remote_details *ret)
{
    *ret = (struct remote_details){.worker = ""};
    (void)snprintf(ret->worker, sizeof(ret->worker), "%s", worker->peer.name);
    (void)snprintf(ret->attested_by, sizeof(ret->attested_by), "%s", worker->place.name);
    (void)snprintf(ret->address, sizeof(ret->address), "%.95s", worker->place.address);
    (void)snprintf(ret->mode, sizeof(ret->mode), "%s", worker->context->mode);
}

void worker_part(const struct worker *worker, struct backend_part *ret)
{
    bool connected = worker->state == WORKER_USABLE;
    *ret = (struct backend_part){
        .state = worker->draining                   ? BACKEND_PART_DRAINING
                 : connected                        ? BACKEND_PART_USABLE
                 : worker->error.message[0] != '\0' ? BACKEND_PART_UNUSABLE
                                                    : BACKEND_PART_CONNECTING,
        .runs = worker->capacity.runs,
        .slots = worker->capacity.slots,
    };
    (void)snprintf(ret->name, sizeof(ret->name), "%s", worker->place.name);
    (void)snprintf(ret->address, sizeof(ret->address), "%s", worker->place.address);
    (void)snprintf(ret->mode, sizeof(ret->mode), "%s", connected ? worker->peer.mode : "");
    if (connected)
        return;
    (void)snprintf(ret->message, sizeof(ret->message), "%.255s", worker->error.message);
    if (worker->error.message[0] != '\0')
        (void)snprintf(ret->remedy, sizeof(ret->remedy), "%.383s", worker->error.hint);
}

bool worker_offer(struct worker *worker, const struct remote_offer *offer,
                  struct assignment *assignment)
{
    assignment->channel = link_offer(worker->link, offer);
    if (assignment->channel == 0)
        return false;
    assignment->worker = worker;
    assignment->next = worker->assignments;
    worker->assignments = assignment;
    worker->assigned++;
    if (!worker->handling)
        arm(worker, true);
    return true;
}

bool worker_send(struct assignment *assignment, int fds[RUN_FD_COUNT])
{
    struct worker *worker = assignment->worker;
    bool sent = link_send_run(worker->link, assignment->channel, fds);
    if (!sent) {
        take_off(worker, find(worker, assignment->channel));
        assignment->worker = NULL;
    }
    if (!worker->handling)
        arm(worker, true);
    return sent;
}

void worker_withdraw(struct assignment *assignment)
{
    struct worker *worker = assignment->worker;
    if (!worker)
        return;
    take_off(worker, find(worker, assignment->channel));
    assignment->worker = NULL;
    link_withdraw(worker->link, assignment->channel);
    if (!worker->handling)
        arm(worker, true);
}
