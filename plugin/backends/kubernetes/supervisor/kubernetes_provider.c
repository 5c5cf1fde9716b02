/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the kubernetes backend's table of functions for runs with a guest: see struct
 * guest_provider. Runs in the kubernetes backend. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backends/kubernetes/supervisor/kubernetes_run.h"
#include "base/cleanup.h"

_Static_assert(offsetof(struct kubernetes_run, run) == 0, "one address");

struct kubernetes_run *kubernetes_run(struct run *run)
{
    return (struct kubernetes_run *)run;
}

static struct run *new_run(void)
{
    struct kubernetes_run *own = calloc(1, sizeof(*own));
    return own ? &own->run : NULL;
}

static void stop(struct run *run)
{
    api_call_cancel(TAKE_POINTER(kubernetes_run(run)->call));
}

static void free_run(struct run *run)
{
    struct kubernetes_run *own = kubernetes_run(run);
    stop(run);
    pods_sweep_disown(own->sweep);
    kubernetes_options_clear(&own->options);
    explicit_bzero(own, sizeof(*own)); /* the end of its output, which may name a secret */
    free(own);
}

static bool is_known(const struct engine *engine)
{
    return engine->known;
}

static void doubt(struct engine *engine)
{
    engine->known = false;
}

static enum run_failure report(const struct engine_fault *fault, struct run_event *event)
{
    return api_fault_report(fault->problem, fault->retry_after_ms, event);
}

static int wait_for_server(struct guest_environment *guests, struct curl_waitfd *watches,
                           size_t count, int timeout_ms)
{
    return api_client_wait(kubernetes_environment(guests)->client, watches, count,
                           kubernetes_streams_keep_alive(guests, timeout_ms));
}

const struct guest_provider kubernetes_provider = {
    .name = "kubernetes",
    .form = &kubernetes_attached_form,
    .is_distant = true,
    .make_waiting = kubernetes_pool_make,
    .start = kubernetes_container_start,
    .take_network = network_check_take,
    .read_end = kubernetes_container_read_end,
    .asks_after = kubernetes_container_asks_after,
    .is_asking = kubernetes_container_is_asking,
    .stop_asking = kubernetes_container_stop_asking,
    .remove = kubernetes_container_remove,
    .is_current = kubernetes_container_is_current,
    .free_container = kubernetes_container_free,
    .is_known = is_known,
    .doubt = doubt,
    .interpreter = kubernetes_config_interpreter,
    .new_run = new_run,
    .begin = kubernetes_run_begin,
    .go_on = kubernetes_run_go_on,
    .make_container = kubernetes_run_get_container,
    .begin_anew = kubernetes_run_begin_anew,
    .judge = kubernetes_run_judge,
    .explain_layer = kubernetes_run_explain_layer,
    .report = report,
    .stop = stop,
    .expire = kubernetes_run_expire,
    .free_run = free_run,
    .wait = wait_for_server,
    .handle = network_check_handle,
    .is_busy = network_check_is_busy,
};
