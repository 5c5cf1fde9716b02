/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-remote: the backend of mode remote. Started by the plugin with descriptor 3 as its
 * control socket and nothing else; hands runs to workers on other machines, and ends with the host.
 * Owns the event loop and the sets of workers. Single-threaded, beside the helper of resolver.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "backends/common/control.h"
#include "backends/common/run_answer.h"
#include "backends/common/run_input.h"
#include "backends/remote/client/run.h"
#include "backends/remote/client/workers.h"
#include "base/cleanup.h"

#define SETS_LIMIT    16
#define UNUSED_US     (UINT64_C(60) * 1000000) /* after which a set is let go, but the latest */
#define LOOK_AFTER_MS 10000
#define HOST_ENDED    "the gateway ends"

struct backend {
    struct event_loop *loop;
    struct resolver *resolver;
    struct watch control;
    struct watch host;
    struct timer look;
    struct workers *sets; /* the one that was used last is the first */
    bool serving;
};

static bool has_options(const struct workers *workers, const struct wire_bytes *options)
{
    return workers->bytes.length == options->length &&
           (options->length == 0 ||
            memcmp(workers->bytes.bytes, options->bytes, options->length) == 0);
}

/* Puts it first. NULL: the options are none, or there are too many sets. */
static struct workers *find_set(struct backend *backend, const struct wire_bytes *options)
{
    struct workers **place = &backend->sets;
    size_t count = 0;
    for (; *place && !has_options(*place, options); place = &(*place)->next)
        count++;
    struct workers *workers = *place;
    if (workers)
        *place = workers->next;
    else if (count < SETS_LIMIT)
        workers = workers_new(backend->loop, backend->resolver, options);
    if (!workers)
        return NULL;
    workers->next = backend->sets;
    backend->sets = workers;
    return workers;
}

static void start_run(void *user, const int fds[RUN_FD_COUNT])
{
    struct backend *backend = user;
    CLEANUP(run_description_clear) struct run_description description = {0};
    if (!run_read_description(fds[RUN_FD_DESCRIPTION], &description)) {
        run_refuse(fds, EINVAL, "the description could not be read");
        return;
    }
    struct workers *workers = find_set(backend, &description.options);
    if (workers)
        run_begin(workers, &description, fds);
    else
        run_refuse(fds, EINVAL, "the run names no workers, or there are too many configurations");
}

/* Workers keep their pools themselves, and do not tell of them. */
static void count_pool(void *user __attribute__((unused)), struct pool_report *ret)
{
    *ret = (struct pool_report){.rows = {{.ready = 0}}};
}

static size_t list_parts(void *user, unsigned char message[BACKEND_PARTS_LIMIT])
{
    const struct backend *backend = user;
    struct backend_part *parts = calloc(BACKEND_PARTS_MOST, sizeof(*parts));
    size_t count = 0;
    if (parts && backend->sets)
        count = workers_parts(backend->sets, parts, BACKEND_PARTS_MOST);
    size_t length = backend_parts_encode(parts, count, message);
    free(parts);
    return length;
}

static const struct control_handler control_handler = {
    .start_run = start_run,
    .count_pool = count_pool,
    .list_parts = list_parts,
};

static void serve_control(struct watch *watch, uint32_t events __attribute__((unused)))
{
    struct backend *backend = CONTAINER_OF(watch, struct backend, control);
    if (!control_handle(watch->fd, &control_handler, backend))
        backend->serving = false;
}

static void host_ended(struct watch *watch, uint32_t events __attribute__((unused)))
{
    CONTAINER_OF(watch, struct backend, host)->serving = false;
}

/* The workers of a policy that was replaced are dropped. */
static void let_go(struct timer *timer)
{
    struct backend *backend = CONTAINER_OF(timer, struct backend, look);
    uint64_t now = monotonic_us();
    struct workers **place = backend->sets ? &backend->sets->next : NULL;
    while (place && *place) {
        struct workers *workers = *place;
        if (workers->runs || now - workers->used_us < UNUSED_US) {
            place = &workers->next;
            continue;
        }
        *place = workers->next;
        workers_free(workers, "the gateway has another policy");
    }
    event_loop_after(backend->loop, timer, LOOK_AFTER_MS);
}

static void serve(struct backend *backend)
{
    backend->serving = true;
    backend->look.fire = let_go;
    event_loop_after(backend->loop, &backend->look, LOOK_AFTER_MS);
    while (backend->serving && event_loop_turn(backend->loop, -1) == 0)
        continue;
    while (backend->sets) {
        struct workers *workers = backend->sets;
        backend->sets = workers->next;
        workers_free(workers, HOST_ENDED);
    }
}

static bool begin(struct backend *backend, int control, int host)
{
    backend->control = (struct watch){.fd = control, .ready = serve_control};
    backend->host = (struct watch){.fd = host, .ready = host_ended};
    return event_loop_watch(backend->loop, &backend->control, EPOLLIN) == 0 &&
           event_loop_watch(backend->loop, &backend->host, EPOLLIN) == 0 &&
           resolver_begin(backend->resolver, backend->loop) && control_greet(control) == 0;
}

int main(void)
{
    static struct backend backend; /* the process is one */
    CLEANUP_CLOSE int host = backend_enter();
    if (host < 0)
        return 1;
    (void)signal(SIGPIPE, SIG_IGN); /* pipes to a plugin that has gone */
    backend.resolver = resolver_new();
    backend.loop = event_loop_new();
    bool begun = backend.resolver && backend.loop && begin(&backend, BACKEND_CONTROL_FD, host);
    if (begun)
        serve(&backend);
    resolver_free(backend.resolver);
    event_loop_free(backend.loop);
    return !begun;
}
