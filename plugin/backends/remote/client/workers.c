/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the workers of one configuration: see workers.h. Runs in code-execute-remote. */
#include "backends/remote/client/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backends/common/run_answer.h"
#include "backends/remote/client/run.h"
#include "base/cleanup.h"

static struct worker *find(struct workers *workers, const struct remote_place *place)
{
    for (struct worker *worker = workers->first; worker; worker = worker->next)
        if (strcmp(worker->place.name, place->name) == 0 &&
            strcmp(worker->place.address, place->address) == 0)
            return worker;
    return NULL;
}

/* Those that are not listed any more and have no run. */
static void remove_unlisted(struct workers *workers)
{
    for (struct worker **place = &workers->first; *place;) {
        struct worker *worker = *place;
        if (worker->listed || worker->assignments || worker->handling) {
            place = &worker->next;
            continue;
        }
        *place = worker->next;
        worker_free(worker, "the worker is not listed any more");
    }
}

static void discovered(void *user)
{
    struct workers *workers = user;
    struct discovery *discovery = &workers->discovery;
    for (struct worker *worker = workers->first; worker; worker = worker->next)
        worker->listed = false;
    for (size_t i = 0; i < discovery->count; i++) {
        struct worker *worker = find(workers, &discovery->places[i]);
        if (!worker) {
            worker = worker_new(&workers->context, ++workers->last_id, &discovery->places[i]);
            if (!worker)
                break;
            worker->next = workers->first;
            workers->first = worker;
        }
        worker->listed = true;
    }
    remove_unlisted(workers);
    runs_reconsider(workers);
}

/* A connection was made or lost. The list of workers must not change here, because one of them is
 * the caller. */
static void worker_changed(void *user)
{
    runs_reconsider(user);
}

static void worker_has_room(void *user, const struct worker *worker)
{
    runs_hear_of_room(user, worker);
}

struct workers *workers_new(struct event_loop *loop, struct resolver *resolver,
                            const struct wire_bytes *options)
{
    struct workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return NULL;
    workers->bytes.bytes = malloc(options->length + 1);
    if (!workers->bytes.bytes || !remote_options_read(options, &workers->options)) {
        free(workers->bytes.bytes);
        free(workers);
        return NULL;
    }
    if (options->length > 0)
        memcpy(workers->bytes.bytes, options->bytes, options->length);
    workers->bytes.length = options->length;
    workers->context = (struct worker_context){
        .loop = loop,
        .resolver = resolver,
        .files = {workers->options.authority, workers->options.certificate, workers->options.key},
        .mode = workers->options.mode,
        .user = workers,
        .changed = worker_changed,
        .has_room = worker_has_room,
    };
    workers->discovery.loop = loop;
    workers->discovery.resolver = resolver;
    workers->discovery.options = &workers->options;
    workers->discovery.user = workers;
    workers->discovery.changed = discovered;
    workers->used_us = monotonic_us();
    discovery_begin(&workers->discovery);
    return workers;
}

void workers_free(struct workers *workers, const char *why)
{
    discovery_end(&workers->discovery);
    runs_abandon(workers);
    while (workers->first) {
        struct worker *worker = workers->first;
        workers->first = worker->next;
        worker_free(worker, why);
    }
    remote_options_clear(&workers->options);
    free(workers->bytes.bytes);
    free(workers);
}

void workers_count(struct workers *workers, const struct placing *placing, size_t *ret_usable,
                   size_t *ret_connecting)
{
    size_t reachable = 0;
    *ret_usable = 0;
    *ret_connecting = !workers->discovery.known;
    for (struct worker *worker = workers->first; worker; worker = worker->next) {
        reachable += worker_is_usable(worker);
        *ret_usable += worker_is_usable(worker) && !placing_has_asked(placing, worker->id);
    }
    for (struct worker *worker = workers->first; worker; worker = worker->next) {
        /* Once for each run: after an attempt that failed since the run came, it waits for no
         * other.
         */
        if (reachable == 0 && worker->settled_us < placing->begun_us)
            worker_wake(worker);
        *ret_connecting += worker_is_coming(worker);
    }
}

struct worker *workers_draw(struct workers *workers, const struct placing *placing)
{
    struct candidate candidates[REMOTE_WORKERS_MOST];
    struct worker *usable[REMOTE_WORKERS_MOST];
    size_t count = 0;
    uint64_t random = 0;
    for (struct worker *worker = workers->first; worker && count < REMOTE_WORKERS_MOST;
         worker = worker->next) {
        if (!worker_is_usable(worker) || placing_has_asked(placing, worker->id))
            continue;
        usable[count] = worker;
        candidates[count++] = worker_candidate(worker);
    }
    if (count == 0)
        return NULL;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint64_t)monotonic_us();
    return usable[placement_draw(candidates, count, random)];
}

size_t workers_explain(const struct workers *workers, char ret[WORKERS_MESSAGE_LIMIT])
{
    size_t count = 0;
    size_t length = 0;
    ret[0] = '\0';
    if (workers->discovery.error.message[0] != '\0')
        length = (size_t)snprintf(ret, WORKERS_MESSAGE_LIMIT, "%.120s",
                                  workers->discovery.error.message);
    for (const struct worker *worker = workers->first; worker; worker = worker->next) {
        const char *reason =
            worker->draining ? "ends its runs and takes no more" : worker->error.message;
        count++;
        if (worker_is_usable(worker) || reason[0] == '\0' || length >= WORKERS_MESSAGE_LIMIT)
            continue;
        length += (size_t)snprintf(ret + length, WORKERS_MESSAGE_LIMIT - length, "%s%s: %s",
                                   length > 0 ? "; " : "", worker->place.name, reason);
    }
    return count;
}

size_t workers_parts(const struct workers *workers, struct backend_part *parts, size_t most)
{
    size_t count = 0;
    for (const struct worker *worker = workers->first; worker && count < most;
         worker = worker->next)
        worker_part(worker, &parts[count++]);
    const struct discovery *discovery = &workers->discovery;
    if (discovery->error.message[0] == '\0' || count == most)
        return count;
    parts[count] = (struct backend_part){.name = "discovery", .state = BACKEND_PART_UNUSABLE};
    (void)snprintf(parts[count].message, sizeof(parts[count].message), "%.255s",
                   discovery->error.message);
    (void)snprintf(parts[count].remedy, sizeof(parts[count].remedy), "%.383s",
                   discovery->error.hint);
    return count + 1;
}
