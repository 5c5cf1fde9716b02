/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a provider's status as metrics, into a text or a file. Any thread. */
#include "metrics/prometheus_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "formats/doctor_report.h"

static void begin_metric(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP toolhost_%s %s\n# TYPE toolhost_%s %s\n", name, help, name, type);
}

/* Inside quotes: what is not escaped ends the value. */
static void write_label(FILE *out, const char *before, const char *name, const char *value)
{
    (void)fprintf(out, "%s%s=\"", before, name);
    for (const char *next = value; *next; next++) {
        if (*next == '\n')
            (void)fputs("\\n", out);
        else if (*next == '"' || *next == '\\')
            (void)fprintf(out, "\\%c", *next);
        else
            (void)fputc(*next, out);
    }
    (void)fputc('"', out);
}

static void write_flag(FILE *out, const char *metric, const char *help, const json_t *list,
                       const char *label, const char *member)
{
    begin_metric(out, metric, "gauge", help);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        (void)fprintf(out, "toolhost_%s", metric);
        write_label(out, "{", label, json_member_string(row, label, "?"));
        (void)fprintf(out, "} %d\n", json_member_true(row, member));
    }
}

/* A backend's name is its label. */
static void write_layers(FILE *out, const json_t *backends)
{
    begin_metric(out, "layer_applied", "gauge", "Whether the isolation layer is in force.");
    for (size_t i = 0; i < json_array_size(backends); i++) {
        const json_t *backend = json_array_get(backends, i);
        const json_t *layers = json_object_get(backend, "layers");
        for (size_t j = 0; j < json_array_size(layers); j++) {
            const json_t *layer = json_array_get(layers, j);
            const char *state = json_member_string(layer, "state", "");
            (void)fputs("toolhost_layer_applied", out);
            write_label(out, "{", "backend", json_member_string(backend, "name", "?"));
            write_label(out, ",", "layer", json_member_string(layer, "name", "?"));
            (void)fprintf(out, "} %d\n", strcmp(state, "applied") == 0);
        }
    }
}

static const struct {
    const char *member;
    const char *metric;
    const char *type;
    const char *help;
} counts[] = {
    {"calls_under_way", "calls_under_way", "gauge", "Calls that have not returned."},
    {"calls_running", "calls_running", "gauge", "Calls whose program is running."},
    {"calls_queued", "calls_queued", "gauge", "Calls waiting for their turn."},
    {"calls_waiting_for_approval", "calls_waiting_for_approval", "gauge",
     "Calls waiting for an approval decision."},
    {"calls_run", "calls_run_total", "counter", "Calls whose program was executed."},
    {"calls_not_run", "calls_not_run_total", "counter", "Calls that ended before a program ran."},
    {"calls_too_many", "calls_too_many_total", "counter",
     "Calls refused because too many were under way."},
    {"sandboxes_new", "sandboxes_new_total", "counter", "Runs in a sandbox created on demand."},
    {"sandboxes_copied", "sandboxes_copied_total", "counter",
     "Runs in a copy of a waiting interpreter."},
    {"sandboxes_ready", "sandboxes_ready_total", "counter",
     "Runs in a sandbox that was kept ready."},
    {"sandboxes_kept", "sandboxes_kept_total", "counter",
     "Cells of a session that had executed others before."},
    {"sessions", "sessions", "gauge", "Sessions that live."},
    {"tool_calls_ok", "tool_calls_ok_total", "counter", "Programs' calls of tools that went well."},
    {"tool_calls_error", "tool_calls_error_total", "counter",
     "Programs' calls of tools that failed."},
    {"tool_calls_denied", "tool_calls_denied_total", "counter",
     "Programs' calls of tools that were refused."},
    {"tool_calls_cancelled", "tool_calls_cancelled_total", "counter",
     "Programs' calls of tools that were open when their run ended."},
};

static void write_counts(FILE *out, const json_t *counters)
{
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const json_t *value = json_object_get(counters, counts[i].member);
        if (!json_is_integer(value))
            continue;
        begin_metric(out, counts[i].metric, counts[i].type, counts[i].help);
        (void)fprintf(out, "toolhost_%s %lld\n", counts[i].metric,
                      (long long)json_integer_value(value));
    }
}

/* A row for each kind of sandbox; what a backend does not know has none. */
static void write_pool_rows(FILE *out, const json_t *pools, const char *metric, const char *member,
                            const char *help)
{
    begin_metric(out, metric, "gauge", help);
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        const json_t *rows = json_object_get(pool, "sandboxes");
        for (size_t j = 0; j < json_array_size(rows); j++) {
            const json_t *row = json_array_get(rows, j);
            const json_t *value = json_object_get(row, member);
            if (!json_is_integer(value))
                continue;
            (void)fprintf(out, "toolhost_%s", metric);
            write_label(out, "{", "backend", json_member_string(pool, "backend", "?"));
            write_label(out, ",", "interpreter", json_member_string(row, "interpreter", "?"));
            (void)fprintf(out, "} %lld\n", (long long)json_integer_value(value));
        }
    }
}

static void write_pools(FILE *out, const json_t *pools)
{
    if (!json_is_array(pools))
        return;
    begin_metric(out, "pool_known", "gauge", "Whether the backend has reported its pool.");
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        const char *state = json_member_string(pool, "state", "");
        (void)fputs("toolhost_pool_known", out);
        write_label(out, "{", "backend", json_member_string(pool, "backend", "?"));
        (void)fprintf(out, "} %d\n", strcmp(state, "silent") != 0);
    }
    write_pool_rows(out, pools, "pool_ready", "ready", "Sandboxes that are ready for a run.");
    write_pool_rows(out, pools, "pool_wanted", "wanted",
                    "Sandboxes that the pool aims to keep ready.");
    write_pool_rows(out, pools, "pool_memory_bytes", "memory_bytes",
                    "Memory held by the ready sandboxes, as estimated by the pool.");
}

static void write_status(FILE *out, const json_t *status)
{
    const json_t *policy = json_object_get(status, "policy");
    const json_t *backends = json_object_get(status, "backends");
    begin_metric(out, "ready", "gauge", "Whether programs can run in the mode in force.");
    (void)fprintf(out, "toolhost_ready %d\n", doctor_report_is_available(status));
    begin_metric(out, "info", "gauge", "The provider, the mode in force, and its policy.");
    (void)fputs("toolhost_info", out);
    write_label(out, "{", "provider", json_member_string(status, "provider", ""));
    write_label(out, ",", "version", json_member_string(status, "version", ""));
    write_label(out, ",", "mode", json_member_string(status, "mode", ""));
    write_label(out, ",", "policy_sha256", json_member_string(policy, "sha256", ""));
    (void)fputs("} 1\n", out);
    write_flag(out, "backend_available", "Whether the backend can run programs on this machine.",
               backends, "name", "available");
    write_flag(out, "backend_allowed", "Whether the policy allows the backend.", backends, "name",
               "allowed");
    write_layers(out, backends);
    write_flag(out, "runtime_found", "Whether programs in the language can run.",
               json_object_get(status, "runtimes"), "language", "found");
    write_counts(out, json_object_get(status, "counters"));
    write_pools(out, json_object_get(status, "pools"));
}

char *prometheus_text_make(const json_t *status, size_t *ret_length)
{
    return page_text(write_status, status, ret_length);
}

static bool replace_file(const char *path, const char *text, size_t length, struct failure *failure)
{
    CLEANUP_FREE char *aside = NULL;
    if (asprintf(&aside, "%s.XXXXXX", path) < 0) {
        aside = NULL;
        return failure_out_of_memory(failure);
    }
    CLEANUP_CLOSE int fd = mkostemp(aside, O_CLOEXEC);
    if (fd < 0)
        return failure_set_errno(failure, "unwritable_file", errno, "%s", path);
    if (write_fully(fd, text, length) && fchmod(fd, 0644) == 0 && rename(aside, path) == 0)
        return true;
    (void)failure_set_errno(failure, "unwritable_file", errno, "%s", path);
    (void)unlink(aside);
    return false;
}

bool prometheus_file_write(const char *path, const json_t *status, struct failure *failure)
{
    size_t length = 0;
    CLEANUP_FREE char *text = prometheus_text_make(status, &length);
    if (!text)
        return failure_out_of_memory(failure);
    return replace_file(path, text, length, failure);
}
