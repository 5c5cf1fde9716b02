/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost top: how busy gateways are, from the files of metrics that they write. On a terminal a
 * frame a second until it is interrupted, else one frame. Main thread.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "cleanup.h"
#include "commands.h"
#include "console.h"
#include "descriptor_io.h"
#include "metrics_sample.h"
#include "text_escape.h"

#define FRAME_SECONDS 1
#define STALE_SECONDS 10 /* five times as long as toolhost mcp takes between two */
#define MOST_FILES    (OPTIONS_WORDS + 1)

/* A file, as it was read last and as it was before that. */
struct gateway {
    const char *path;
    bool read;
    bool has_before;
    struct metrics_sample now, before;
    struct failure failure;
};

struct view {
    struct gateway gateways[MOST_FILES];
    size_t count;
};

/* A file that says the same still keeps what it said before: rates are between two of its states.
 */
static void look(struct gateway *gateway)
{
    struct metrics_sample sample;
    bool was_read = gateway->read;
    gateway->read = metrics_sample_read(gateway->path, &sample, &gateway->failure);
    if (!gateway->read || !was_read) {
        gateway->has_before = false;
    } else if (metrics_seconds_between(gateway->now.written, sample.written) != 0) {
        gateway->before = gateway->now;
        gateway->has_before = true;
    }
    if (gateway->read)
        gateway->now = sample;
}

static bool is_stale(const struct gateway *gateway, struct timespec now, double *ret_seconds)
{
    *ret_seconds = metrics_seconds_between(gateway->now.written, now);
    return *ret_seconds > STALE_SECONDS;
}

static void write_number(FILE *out, const struct gateway *gateway, const char *label,
                         enum metric metric)
{
    (void)fprintf(out, "  %s ", label);
    if (gateway->now.has[metric])
        (void)fprintf(out, "%llu", (unsigned long long)gateway->now.value[metric]);
    else
        (void)fputc('-', out);
}

static void write_mebibytes(FILE *out, const struct gateway *gateway, const char *label,
                            enum metric metric)
{
    (void)fprintf(out, "  %s ", label);
    if (gateway->now.has[metric])
        (void)fprintf(out, "%.1f MiB", (double)gateway->now.value[metric] / (1024 * 1024));
    else
        (void)fputc('-', out);
}

/* A number, and how many more there were in a second. What has become less has begun anew. */
static void write_rate(FILE *out, const struct gateway *gateway, const char *label,
                       enum metric metric)
{
    const struct metrics_sample *now = &gateway->now;
    const struct metrics_sample *before = &gateway->before;
    write_number(out, gateway, label, metric);
    if (!gateway->has_before || !now->has[metric] || !before->has[metric])
        return;
    double seconds = metrics_seconds_between(before->written, now->written);
    if (seconds > 0 && now->value[metric] >= before->value[metric])
        (void)fprintf(out, " (%.1f/s)",
                      (double)(now->value[metric] - before->value[metric]) / seconds);
}

static void write_text(FILE *out, const char *before, const char *text)
{
    (void)fputs(before, out);
    text_escape_write(out, text, strlen(text));
}

static void write_label(FILE *out, const struct gateway *gateway, const char *name)
{
    char value[METRICS_INFO_SIZE];
    metrics_sample_label(&gateway->now, name, value, sizeof(value));
    write_text(out, "  ", value);
}

static void write_gateway(FILE *out, const struct gateway *gateway, struct timespec now)
{
    double seconds = 0;
    (void)fputc('\n', out);
    write_text(out, "", gateway->path);
    if (!gateway->read) {
        write_text(out, "\n  MISSING  ", gateway->failure.message);
        (void)fputc('\n', out);
        return;
    }
    write_label(out, gateway, "provider");
    write_label(out, gateway, "version");
    write_label(out, gateway, "mode");
    (void)fputs(gateway->now.value[METRIC_READY] ? "  ready\n" : "  NOT READY\n", out);
    if (is_stale(gateway, now, &seconds))
        (void)fprintf(out, "  STALE  nothing was written for %.0f s\n", seconds);
    write_number(out, gateway, "now         under way", METRIC_CALLS_UNDER_WAY);
    write_number(out, gateway, "running", METRIC_CALLS_RUNNING);
    write_number(out, gateway, "queued", METRIC_CALLS_QUEUED);
    write_number(out, gateway, "waiting for approval", METRIC_CALLS_WAITING);
    (void)fputc('\n', out);
    write_rate(out, gateway, "calls       run", METRIC_CALLS_RUN);
    write_rate(out, gateway, "not run", METRIC_CALLS_NOT_RUN);
    write_rate(out, gateway, "too many", METRIC_CALLS_TOO_MANY);
    (void)fputc('\n', out);
    write_rate(out, gateway, "sandboxes   ready", METRIC_SANDBOXES_READY);
    write_rate(out, gateway, "copied", METRIC_SANDBOXES_COPIED);
    write_rate(out, gateway, "new", METRIC_SANDBOXES_NEW);
    (void)fputc('\n', out);
    write_number(out, gateway, "pools       waiting", METRIC_POOL_READY);
    write_number(out, gateway, "of", METRIC_POOL_WANTED);
    write_mebibytes(out, gateway, "memory", METRIC_POOL_MEMORY);
    (void)fputc('\n', out);
}

/* *ret_whole: every file was there and fresh. New, NULL when out of memory. */
static char *make_frame(struct view *view, bool *ret_whole)
{
    char *text = NULL;
    size_t length = 0;
    struct timespec now;
    struct tm utc;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    *ret_whole = true;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc))
        (void)fprintf(out, "toolhost top  %02d:%02d:%02d UTC\n", utc.tm_hour, utc.tm_min,
                      utc.tm_sec);
    for (size_t i = 0; i < view->count; i++) {
        struct gateway *gateway = &view->gateways[i];
        double seconds = 0;
        look(gateway);
        write_gateway(out, gateway, now);
        *ret_whole = *ret_whole && gateway->read && !is_stale(gateway, now, &seconds);
    }
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return text;
    free(text);
    return NULL;
}

/* Over the frame before, which may have been longer: each line is cleared behind its end, and the
 * screen behind the last. Lines are cut, not wrapped, and no more written than there is room for:
 * the screen would scroll. */
static bool draw(int out, const char *frame)
{
    struct winsize size = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *screen = open_memstream(&text, &length);
    if (!screen)
        return false;
    if (ioctl(out, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        size.ws_row = 24;
    (void)fputs("\033[?7l\033[H", screen);
    for (unsigned row = 1; *frame && row < size.ws_row; row++) {
        size_t line = strcspn(frame, "\n");
        (void)fprintf(screen, "%.*s\033[K\r\n", (int)line, frame);
        frame += line + (frame[line] == '\n');
    }
    (void)fputs("\033[J\033[?7h", screen);
    bool whole = !ferror(screen);
    whole = fclose(screen) == 0 && whole;
    CLEANUP_FREE char *owned = text;
    return whole && write_fully(out, owned, length);
}

static int show(struct view *view, int out, bool live)
{
    for (;;) {
        bool whole = false;
        CLEANUP_FREE char *frame = make_frame(view, &whole);
        if (!frame || !(live ? draw(out, frame) : write_fully(out, frame, strlen(frame))))
            return EXIT_FAILURE;
        if (!live)
            return whole ? EXIT_SUCCESS : EXIT_FAILURE;
        struct timespec pause = {.tv_sec = FRAME_SECONDS};
        (void)nanosleep(&pause, NULL);
    }
}

int command_top(const struct options *options, int out)
{
    CLEANUP_FREE struct view *view = calloc(1, sizeof(*view));
    struct failure failure;
    if (!view) {
        (void)failure_out_of_memory(&failure);
        console_print_failure(&failure);
        return EXIT_FAILURE;
    }
    if (options->metrics)
        view->gateways[view->count++].path = options->metrics;
    for (size_t i = 0; i < options->word_count; i++)
        view->gateways[view->count++].path = options->words[i];
    if (view->count == 0) {
        (void)failure_usage(&failure, "top needs the files that gateways write: --metrics FILE...");
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    return show(view, out, !options->once && isatty(out));
}
