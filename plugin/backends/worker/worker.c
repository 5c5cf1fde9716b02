/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the life of a worker: readiness, signals, and the order of its end. See worker.h. */
#include "backends/worker/worker.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "backends/common/event_loop.h"
#include "backends/worker/gateways.h"
#include "backends/worker/journal.h"
#include "backends/worker/status.h"
#include "backends/worker/trial.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define TRIAL_PAUSE_MS     60000 /* behind a good one */
#define TRIAL_RETRY_MS     5000  /* behind one that failed */
#define NOT_TRIED_RETRY_MS 500
#define LATEST_TURN_MS     1000 /* while it drains */

enum readiness { NOT_TRIED, READY, FAILED };

struct worker {
    const struct worker_configuration *configuration;
    struct event_loop *loop;
    struct local_backend backend;
    struct trial trial;
    struct timer next_trial;
    enum readiness readiness;
    struct remote_answer problem; /* what offers are answered while it is not ready */
    char obstacle[1040];          /* the same for people */
    struct worker_admission admission;
    struct gateways gateways;
    struct status_source source;
    struct status_server *status;
    struct watch signals;
    bool ends;
    uint64_t drain_end_ms; /* 0: it does not drain */
};

static const struct remote_answer *problem_of(void *user)
{
    const struct worker *worker = user;
    return worker->readiness == READY ? NULL : &worker->problem;
}

static const char *obstacle_of(void *user)
{
    const struct worker *worker = user;
    if (worker->admission.drains)
        return "the worker is about to end";
    return worker->readiness == READY ? NULL : worker->obstacle;
}

static char *metrics_of(void *user)
{
    const struct worker *worker = user;
    const struct worker_facts facts = {
        .admission = &worker->admission,
        .gateways = &worker->gateways,
        .backend_starts = worker->backend.starts,
        .certificate_expires_s = tls_context_expires_s(worker->gateways.context),
        .is_ready = obstacle_of(user) == NULL,
    };
    return worker_metrics(&facts);
}

static void note_not_tried(struct worker *worker)
{
    worker->readiness = NOT_TRIED;
    worker->problem = (struct remote_answer){.verdict = REMOTE_BUSY,
                                             .retry_after_ms = NOT_TRIED_RETRY_MS,
                                             .reason = "the worker tries its backend out"};
    (void)snprintf(worker->obstacle, sizeof(worker->obstacle), "%s", worker->problem.reason);
}

static void note_failure(struct worker *worker, const struct error *error)
{
    worker->readiness = FAILED;
    worker->problem = (struct remote_answer){.verdict = REMOTE_REFUSED};
    (void)snprintf(worker->problem.reason, sizeof(worker->problem.reason), "%.250s",
                   error->message);
    (void)snprintf(worker->problem.remedy, sizeof(worker->problem.remedy), "%.380s", error->hint);
    (void)snprintf(worker->obstacle, sizeof(worker->obstacle), "%s: %s", error->message,
                   error->hint);
}

static void on_trial(void *user, const struct error *error)
{
    struct worker *worker = user;
    enum readiness before = worker->readiness;
    if (error)
        note_failure(worker, error);
    else
        worker->readiness = READY;
    event_loop_after(worker->loop, &worker->next_trial, error ? TRIAL_RETRY_MS : TRIAL_PAUSE_MS);
    if (worker->readiness == before)
        return;
    journal_write(
        error ? "not_ready" : "ready",
        (const struct journal_field[]){{"reason", error ? worker->obstacle : "", 0}, {0}});
}

static void on_next_trial(struct timer *timer)
{
    trial_begin(&CONTAINER_OF(timer, struct worker, next_trial)->trial);
}

static void on_backend_ended(void *user)
{
    struct worker *worker = user;
    journal_write("backend_ended",
                  (const struct journal_field[]){{"program", worker->backend.name, 0}, {0}});
    if (worker->readiness == READY)
        note_not_tried(worker);
    event_loop_after(worker->loop, &worker->next_trial, 0);
}

/* Existing connections keep their certificates. */
static void read_files_again(struct worker *worker)
{
    const struct worker_configuration *configuration = worker->configuration;
    const struct tls_files files = {configuration->tls_authority, configuration->tls_certificate,
                                    configuration->tls_key};
    struct error error;
    struct tls_context *context = tls_context_new(true, &files, &error);
    journal_write(context ? "reloaded" : "not_reloaded",
                  (const struct journal_field[]){{"reason", context ? "" : error.message, 0}, {0}});
    if (!context)
        return;
    tls_context_free(worker->gateways.context);
    worker->gateways.context = context;
}

static void drain(struct worker *worker)
{
    if (worker->drain_end_ms != 0) {
        worker->ends = true;
        return;
    }
    worker->drain_end_ms = monotonic_ms() + worker->configuration->drain_seconds * 1000;
    journal_write("draining",
                  (const struct journal_field[]){{"runs", NULL, worker->admission.runs}, {0}});
    gateways_drain(&worker->gateways);
}

/* As the first process of a container it also adopts orphans. */
static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static void on_signal(struct watch *watch, uint32_t events)
{
    struct worker *worker = CONTAINER_OF(watch, struct worker, signals);
    struct signalfd_siginfo signal;
    (void)events;
    if (read(watch->fd, &signal, sizeof(signal)) != (ssize_t)sizeof(signal))
        return;
    if (signal.ssi_signo == SIGHUP)
        read_files_again(worker);
    else if (signal.ssi_signo == SIGCHLD)
        reap();
    else
        drain(worker);
}

static bool take_signals(struct worker *worker, struct error *error)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGCHLD);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        worker->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (worker->signals.fd >= 0 && event_loop_watch(worker->loop, &worker->signals, EPOLLIN) == 0)
        return true;
    error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno, "cannot watch signals");
    return false;
}

static bool open_files(struct worker *worker, struct error *error)
{
    const struct worker_configuration *configuration = worker->configuration;
    const struct tls_files files = {configuration->tls_authority, configuration->tls_certificate,
                                    configuration->tls_key};
    worker->loop = event_loop_new();
    if (!worker->loop) {
        error_set_errno(error, ERROR_BACKEND_UNAVAILABLE, errno, "cannot wait for events");
        return false;
    }
    worker->gateways.context = tls_context_new(true, &files, error);
    return worker->gateways.context && take_signals(worker, error);
}

static void set_up(struct worker *worker)
{
    const struct worker_configuration *configuration = worker->configuration;
    local_backend_init(&worker->backend, worker->loop,
                       worker_mode_program((enum worker_mode)configuration->mode));
    worker->backend.ended = on_backend_ended;
    worker->backend.user = worker;
    worker->admission = (struct worker_admission){
        .max_runs = configuration->max_runs,
        .memory_total_bytes = configuration->memory_total_bytes,
    };
    worker->gateways.loop = worker->loop;
    worker->gateways.configuration = configuration;
    worker->gateways.admission = &worker->admission;
    worker->gateways.backend = &worker->backend;
    worker->gateways.problem = problem_of;
    worker->gateways.user = worker;
    worker->trial = (struct trial){.loop = worker->loop,
                                   .backend = &worker->backend,
                                   .configuration = configuration,
                                   .ended = on_trial,
                                   .user = worker};
    trial_init(&worker->trial);
    worker->source = (struct status_source){obstacle_of, metrics_of, worker};
}

static bool open_servers(struct worker *worker, struct error *error)
{
    const char *address = worker->configuration->status_listen;
    if (address) {
        worker->status = status_server_new(worker->loop, address, &worker->source, error);
        if (!worker->status)
            return false;
    }
    return gateways_open(&worker->gateways, error);
}

/* The longest wait of a turn; -1: no limit. */
static int longest_turn_ms(const struct worker *worker)
{
    return worker->drain_end_ms == 0 ? -1 : LATEST_TURN_MS;
}

static bool is_over(const struct worker *worker)
{
    if (worker->drain_end_ms == 0)
        return worker->ends;
    return worker->ends || worker->admission.runs + worker->admission.leaving == 0 ||
           monotonic_ms() >= worker->drain_end_ms;
}

static void serve(struct worker *worker)
{
    while (!is_over(worker) && event_loop_turn(worker->loop, longest_turn_ms(worker)) == 0)
        gateways_settle(&worker->gateways);
    journal_write("ended", (const struct journal_field[]){
                               {"runs_cut_off", NULL, worker->admission.runs}, {0}});
    gateways_close(&worker->gateways, "the worker has ended");
}

static void tear_down(struct worker *worker)
{
    if (!worker->loop)
        return;
    status_server_free(worker->status);
    if (worker->backend.loop) {
        trial_clear(&worker->trial);
        local_backend_stop(&worker->backend);
    }
    event_loop_cancel(worker->loop, &worker->next_trial);
    int signals = worker->signals.fd;
    event_loop_unwatch(worker->loop, &worker->signals);
    close_fd(signals);
    event_loop_free(worker->loop);
    tls_context_free(worker->gateways.context);
}

bool worker_serve(const struct worker_configuration *configuration)
{
    struct error error;
    struct worker worker = {
        .configuration = configuration,
        .next_trial = {.fire = on_next_trial},
        .signals = {-1, on_signal},
        .gateways = {.listener = {.fd = -1}},
    };
    note_not_tried(&worker);
    bool opened = open_files(&worker, &error);
    if (opened) {
        set_up(&worker);
        opened = open_servers(&worker, &error);
    }
    if (opened) {
        trial_begin(&worker.trial);
        serve(&worker);
    } else {
        (void)fprintf(stderr, "code-execute-worker: %s\n  %s\n", error.message, error.hint);
    }
    tear_down(&worker);
    return opened;
}
