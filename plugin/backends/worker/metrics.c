/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the names of a worker's metrics: see status.h. */
#include "backends/worker/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static void write_metric(FILE *out, const char *name, const char *type, const char *help,
                         uint64_t value)
{
    (void)fprintf(out, "# HELP code_execute_worker_%s %s\n# TYPE code_execute_worker_%s %s\n", name,
                  help, name, type);
    (void)fprintf(out, "code_execute_worker_%s %" PRIu64 "\n", name, value);
}

static void write_offers(FILE *out, const struct gateways_counts *counts)
{
    static const char *const names[REMOTE_VERDICT_END] = {
        [REMOTE_ACCEPTED] = "accepted",
        [REMOTE_BUSY] = "busy",
        [REMOTE_DRAINING] = "draining",
        [REMOTE_REFUSED] = "refused",
    };
    (void)fputs("# HELP code_execute_worker_offers_total Runs that gateways have offered, by the "
                "answer.\n# TYPE code_execute_worker_offers_total counter\n",
                out);
    for (unsigned verdict = REMOTE_ACCEPTED; verdict < REMOTE_VERDICT_END; verdict++)
        (void)fprintf(out, "code_execute_worker_offers_total{answer=\"%s\"} %" PRIu64 "\n",
                      names[verdict], counts->answers[verdict]);
}

static void write_durations(FILE *out, const struct gateways_counts *counts)
{
    (void)fputs("# HELP code_execute_worker_run_seconds How long runs have had their share of the "
                "worker.\n# TYPE code_execute_worker_run_seconds summary\n",
                out);
    (void)fprintf(out, "code_execute_worker_run_seconds_sum %" PRIu64 ".%03" PRIu64 "\n",
                  counts->ended_runs_ms / 1000, counts->ended_runs_ms % 1000);
    (void)fprintf(out, "code_execute_worker_run_seconds_count %" PRIu64 "\n", counts->ended_runs);
}

char *worker_metrics(const struct worker_facts *facts)
{
    const struct worker_admission *admission = facts->admission;
    const struct gateways_counts *counts = &facts->gateways->counts;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    write_metric(out, "ready", "gauge", "Whether runs can be had.", facts->is_ready);
    write_metric(out, "draining", "gauge", "Whether the worker is about to end.",
                 admission->drains);
    write_metric(out, "runs", "gauge", "Runs under way.", admission->runs);
    write_metric(out, "slots", "gauge", "Runs that may be under way.", admission->max_runs);
    write_metric(out, "memory_bytes", "gauge", "Memory limits of the runs under way, together.",
                 admission->memory_bytes);
    write_metric(out, "memory_total_bytes", "gauge", "The most that they may be.",
                 admission->memory_total_bytes);
    write_metric(out, "connections", "gauge", "Connections of gateways.", facts->gateways->count);
    write_metric(out, "handshakes", "gauge", "Those that have not greeted yet.",
                 facts->gateways->handshakes);
    write_offers(out, counts);
    write_durations(out, counts);
    write_metric(out, "refused_runs_total", "counter",
                 "Runs that were accepted and could not be had.", counts->refused_runs);
    write_metric(out, "connections_total", "counter", "Connections since the start.",
                 counts->connections);
    write_metric(out, "refused_connections_total", "counter",
                 "Connections that were refused, or did not greet.", counts->refused_connections);
    write_metric(out, "backend_starts_total", "counter", "Starts of the backend program.",
                 facts->backend_starts);
    write_metric(out, "certificate_expires_seconds", "gauge",
                 "When the own certificate expires, in seconds of the epoch.",
                 (uint64_t)facts->certificate_expires_s);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
