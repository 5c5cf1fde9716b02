/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the checks of --check and their output: see worker.h. */
#include "backends/worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "backends/common/event_loop.h"
#include "backends/remote/link/tls_context.h"
#include "backends/worker/address.h"
#include "backends/worker/trial.h"
#include "base/cleanup.h"
#include "protocol/layers.h"

struct check {
    bool is_over;
    bool has_failed;
};

static bool print_failure(const char *subject, const struct error *error)
{
    (void)printf("missing  %s: %s\n         %s\n", subject, error->message, error->hint);
    return false;
}

static bool check_tls(const struct worker_configuration *configuration)
{
    const struct tls_files files = {configuration->tls_authority, configuration->tls_certificate,
                                    configuration->tls_key};
    struct error error;
    char date[32] = "";
    struct tm broken_down;
    struct tls_context *context = tls_context_new(true, &files, &error);
    if (!context)
        return print_failure("tls", &error);
    time_t expires = (time_t)tls_context_expires_s(context);
    if (gmtime_r(&expires, &broken_down))
        (void)strftime(date, sizeof(date), "%Y-%m-%d", &broken_down);
    (void)printf("ok       tls: the certificate is valid until %s\n", date);
    tls_context_free(context);
    return true;
}

/* A running worker uses the address already. */
static bool check_listen(const char *what, const char *address)
{
    struct error error;
    CLEANUP_CLOSE int listener = listen_address_open(address, &error);
    if (listener < 0 && errno != EADDRINUSE)
        return print_failure(what, &error);
    (void)printf("ok       %s: %s%s\n", what, address,
                 listener < 0 ? " (in use: the worker may be running)" : "");
    return true;
}

static void on_trial(void *user, const struct error *error)
{
    struct check *check = user;
    check->is_over = true;
    check->has_failed = error != NULL;
    if (error)
        (void)print_failure("trial run", error);
    else
        (void)printf("ok       trial run: every layer that the mode needs was applied\n");
}

/* Those that the mode can have. */
static uint64_t possible_layers(enum worker_mode mode)
{
    return mode == WORKER_UNPRIVILEGED ? LAYERS_UNPRIVILEGED_POSSIBLE : LAYERS_EVERY_RUN;
}

/* A layer that has failed is reported by the trial's failure, with its remedy. */
static void print_layers(const struct trial *trial)
{
    enum worker_mode mode = (enum worker_mode)trial->configuration->mode;
    for (enum isolation_layer layer = 0; layer < LAYER_COUNT; layer++) {
        const char *name = isolation_layer_name(layer);
        if ((possible_layers(mode) & LAYER_BIT(layer)) == 0)
            continue;
        if ((trial->applied & LAYER_BIT(layer)) != 0)
            (void)printf("layer    %s: applied\n", name);
        else if (trial->failed_layer == layer)
            (void)printf("layer    %s: failed\n", name);
        else if ((trial->missing & LAYER_BIT(layer)) != 0)
            (void)printf("layer    %s: missing, and no run is refused for it\n         %s\n", name,
                         trial_layer_remedy(mode, layer, 0));
        else
            (void)printf("layer    %s: untested\n", name);
    }
}

static bool try_backend(struct event_loop *loop, const struct worker_configuration *configuration)
{
    struct check check = {.is_over = false};
    struct local_backend backend;
    local_backend_init(&backend, loop, worker_mode_program((enum worker_mode)configuration->mode));
    struct trial trial = {.loop = loop,
                          .backend = &backend,
                          .configuration = configuration,
                          .ended = on_trial,
                          .user = &check};
    trial_init(&trial);
    trial_begin(&trial);
    while (!check.is_over && event_loop_turn(loop, -1) == 0)
        continue;
    trial_clear(&trial);
    local_backend_stop(&backend);
    print_layers(&trial);
    return check.is_over && !check.has_failed;
}

bool worker_check(const struct worker_configuration *configuration)
{
    bool good = check_tls(configuration);
    good = check_listen("listen", configuration->listen) && good;
    if (configuration->status_listen)
        good = check_listen("status_listen", configuration->status_listen) && good;
    struct event_loop *loop = event_loop_new();
    good = loop && try_backend(loop, configuration) && good;
    event_loop_free(loop);
    (void)printf(good ? "The worker can start.\n" : "The worker cannot serve runs.\n");
    return good;
}
