/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost status: is it ready, and what has it counted? For people, as JSON, or as metrics; with
 * --watch again and again. Main thread. */
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "base/write_fully.h"
#include "cli/commands.h"
#include "formats/doctor_report.h"
#include "host/provider_status.h"
#include "metrics/prometheus_text.h"

static void write_line(FILE *out, const char *label, const char *text)
{
    (void)fprintf(out, "%s", label);
    text_escape_write(out, text, strlen(text));
    (void)fputc('\n', out);
}

/* What each backend keeps ready, of all kinds. */
static void write_pools(FILE *out, const json_t *pools)
{
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        const json_t *rows = json_object_get(pool, "sandboxes");
        uint64_t ready = 0;
        uint64_t wanted = 0;
        for (size_t j = 0; j < json_array_size(rows); j++) {
            ready += (uint64_t)json_member_integer(json_array_get(rows, j), "ready", 0);
            wanted += (uint64_t)json_member_integer(json_array_get(rows, j), "wanted", 0);
        }
        if (json_array_size(rows) > 0)
            (void)fprintf(out, "%-8lluready for a run, of %llu wanted: ", (unsigned long long)ready,
                          (unsigned long long)wanted);
        else
            (void)fputs("?       ready for a run: ", out);
        write_line(out, "", json_member_string(pool, "backend", "-"));
    }
}

static void write_summary(FILE *out, const json_t *status)
{
    const json_t *policy = json_object_get(status, "policy");
    const json_t *error = json_object_get(status, "error");
    json_t *counters = json_object_get(status, "counters");
    write_line(out, "ready   ", doctor_report_is_available(status) ? "yes" : "no");
    write_line(out, "mode    ", json_member_string(status, "mode", "-"));
    write_line(out, "policy  ", json_member_string(policy, "sha256", "-"));
    if (json_is_object(error))
        write_line(out, "error   ", json_member_string(error, "message", "-"));
    for (void *place = json_object_iter(counters); place;
         place = json_object_iter_next(counters, place)) {
        (void)fprintf(out, "%-8lld", (long long)json_integer_value(json_object_iter_value(place)));
        write_line(out, "", json_object_iter_key(place));
    }
    write_pools(out, json_object_get(status, "pools"));
    doctor_report_write_parts(out, status);
}

/* The time of a look; a terminal shows the last look only. */
static bool write_heading(int out)
{
    char line[64];
    struct tm utc;
    time_t now = time(NULL);
    const char *clear = isatty(out) ? "\033[H\033[2J" : "";
    return gmtime_r(&now, &utc) &&
           strftime(line, sizeof(line), "at      %Y-%m-%dT%H:%M:%SZ\n", &utc) > 0 &&
           write_fully(out, clear, strlen(clear)) && write_fully(out, line, strlen(line));
}

static bool print_status(const struct options *options, const json_t *status, int out,
                         struct failure *failure)
{
    size_t length = 0;
    if (options->json)
        return console_print_json(out, status, failure);
    if (options->metrics)
        return prometheus_file_write(options->metrics, status, failure);
    CLEANUP_FREE char *text = options->format ? prometheus_text_make(status, &length)
                                              : page_text(write_summary, status, &length);
    if (!text)
        return failure_out_of_memory(failure);
    bool headed = options->watch_ms == 0 || options->format || write_heading(out);
    return (headed && write_fully(out, text, length)) ||
           failure_set(failure, "internal", "cannot write to standard output");
}

/* Each look loads the provider anew, so it shows what a gateway started now would find. */
static int look(const struct options *options, int out, bool *ret_failed)
{
    struct failure failure;
    json_auto_t *status = NULL;
    if (!provider_status_ask(options, &status, &failure) ||
        !print_status(options, status, out, &failure)) {
        console_print_failure(&failure);
        *ret_failed = true;
        return EXIT_FAILURE;
    }
    return doctor_report_is_available(status) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* false: the reader is gone. */
static bool wait_for_next_look(const struct options *options, int out)
{
    struct pollfd event = {.fd = out};
    return poll(&event, 1, (int)options->watch_ms) <= 0;
}

int command_status(const struct options *options, int out)
{
    bool known = !options->format || strcmp(options->format, "prometheus") == 0;
    if (!known || (options->json && (options->format || options->metrics))) {
        struct failure failure;
        (void)failure_usage(&failure, "%s",
                            "status takes --json, or --format prometheus and --metrics FILE");
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    bool failed = false;
    int status = look(options, out, &failed);
    while (options->watch_ms > 0 && !failed && wait_for_next_look(options, out))
        status = look(options, out, &failed);
    return status;
}
