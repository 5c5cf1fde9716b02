/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a result for toolhost run; members that are missing are done without. Any thread. */
#include "formats/run_outcome.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/json.h"

/* A number, or a name such as SIGKILL; 0 where there is none. */
static int signal_number(const json_t *value)
{
    if (json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        return number > 0 && number < 65 ? (int)number : 0;
    }
    const char *name = json_string_value(value);
    if (!name)
        return 0;
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (int number = 1; number < 65; number++) {
        const char *known = sigabbrev_np(number);
        if (known && strcmp(known, name) == 0)
            return number;
    }
    return 0;
}

int run_outcome_exit_status(bool ran, const json_t *result)
{
    const char *status = json_member_string(result, "status", "");
    if (strcmp(status, "cancelled") == 0)
        return EXIT_CANCELLED;
    if (!ran)
        return EXIT_NOT_RUN;
    if (strcmp(status, "timeout") == 0 || json_member_true(result, "timed_out"))
        return EXIT_TIMEOUT;
    json_int_t exit_code = json_member_integer(result, "exit_code", -1);
    int signal = signal_number(json_object_get(result, "signal"));
    if (signal > 0)
        return EXIT_SIGNAL + signal;
    if (strcmp(status, "killed") == 0)
        return EXIT_SIGNAL + SIGKILL;
    return exit_code >= 0 && exit_code <= 255 ? (int)exit_code : EXIT_NOT_RUN;
}

/* A layer is a name, or an object with one. */
static const char *layer_name(const json_t *layer)
{
    const char *name = json_string_value(layer);
    if (!name)
        name = json_member_string(layer, "name", NULL);
    return name ? name : json_member_string(layer, "layer", "?");
}

static void write_layers(FILE *out, const char *label, const json_t *layers)
{
    if (!json_is_array(layers))
        return;
    (void)fprintf(out, " %s=", label);
    size_t index = 0;
    const json_t *layer = NULL;
    json_array_foreach(layers, index, layer)(void)
        fprintf(out, "%s%s", index ? "," : "", layer_name(layer));
    if (json_array_size(layers) == 0)
        (void)fputs("none", out);
}

static void write_isolation(FILE *out, const json_t *result)
{
    const json_t *isolation = json_object_get(result, "isolation");
    (void)fprintf(out, "mode=%s", json_member_string(result, "mode", "?"));
    write_layers(out, "applied", json_object_get(isolation, "applied"));
    write_layers(out, "missing", json_object_get(isolation, "missing"));
    json_int_t duration = json_member_integer(result, "duration_ms", -1);
    if (duration >= 0)
        (void)fprintf(out, " duration=%lldms", (long long)duration);
    (void)fprintf(out, " cause=%s", json_member_string(result, "cause", "?"));
}

char *run_outcome_isolation_line(const json_t *result)
{
    size_t length = 0;
    return page_text(write_isolation, result, &length);
}
