/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of what the docker backend does for runs with a guest: see struct guest_provider.
 * Runs in the docker backend. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/docker/container/container_config.h"
#include "backends/docker/run/docker_run.h"
#include "backends/guest_runs/pool/warm_pool.h"
#include "base/cleanup.h"

_Static_assert(offsetof(struct docker_run, run) == 0, "one address");

struct docker_run *docker_run(struct run *run)
{
    return (struct docker_run *)run;
}

static struct run *new_run(void)
{
    struct docker_run *own = calloc(1, sizeof(*own));
    return own ? &own->run : NULL;
}

static void stop(struct run *run)
{
    engine_call_cancel(TAKE_POINTER(docker_run(run)->call));
    image_waiter_leave(&docker_run(run)->waiter);
}

static void free_run(struct run *run)
{
    struct docker_run *own = docker_run(run);
    stop(run);
    sweep_disown(own->sweep);
    free(own->pull);
    docker_options_clear(&own->options);
    explicit_bzero(own, sizeof(*own)); /* the end of its output, which may name a secret */
    free(own);
}

static struct container *make_waiting(struct guest_environment *guests, struct warm_pool *warm_pool,
                                      uint64_t waiting_s)
{
    struct docker_environment *environment = docker_environment(guests);
    json_t *config = container_config_waiting(warm_pool->template, &environment->owner,
                                              (int64_t)time(NULL), waiting_s);
    return config ? docker_container_make(environment, warm_pool->engine, config, NULL, warm_pool)
                  : NULL;
}

static bool is_known(const struct engine *engine)
{
    return engine->known;
}

static void doubt(struct engine *engine)
{
    engine->known = false;
}

static int wait_for_engine(struct guest_environment *guests, struct curl_waitfd *watches,
                           size_t count, int timeout_ms)
{
    return engine_client_wait(docker_environment(guests)->client, watches, count, timeout_ms);
}

static void handle_images(struct guest_environment *guests)
{
    image_store_handle(docker_environment(guests));
}

static void close_images(struct guest_environment *guests)
{
    image_store_close(docker_environment(guests));
}

static bool has_busy_images(const struct guest_environment *guests)
{
    return image_store_is_busy((const struct docker_environment *)guests);
}

const struct guest_provider docker_provider = {
    .name = "docker",
    .form = &docker_attached_form,
    .make_waiting = make_waiting,
    .start = docker_container_start,
    .read_end = docker_container_read_end,
    .is_asking = docker_container_is_asking,
    .stop_asking = docker_container_stop_asking,
    .remove = docker_container_remove,
    .is_current = docker_container_is_current,
    .free_container = docker_container_free,
    .is_known = is_known,
    .doubt = doubt,
    .interpreter = container_config_interpreter,
    .new_run = new_run,
    .begin = docker_run_begin,
    .go_on = docker_run_go_on,
    .make_container = docker_run_make_container,
    .begin_anew = docker_run_begin_anew,
    .judge = docker_run_judge,
    .report = engine_fault_report,
    .stop = stop,
    .expire = docker_run_expire,
    .free_run = free_run,
    .wait = wait_for_engine,
    .handle = handle_images,
    .close = close_images,
    .is_busy = has_busy_images,
};
