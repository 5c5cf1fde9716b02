/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a provider's status for people; members that are missing are done without. Any thread. */
#include "formats/doctor_report.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/failure.h"
#include "base/json.h"
#include "base/text_escape.h"

/* The texts, up to NULL, with what a terminal would obey escaped. */
__attribute__((sentinel)) static void write_texts(FILE *out, ...)
{
    va_list texts;
    va_start(texts, out);
    for (const char *text = va_arg(texts, const char *); text; text = va_arg(texts, const char *))
        text_escape_write(out, text, strlen(text));
    va_end(texts);
}

/* They make a line. */
#define WRITE_LINE(out, ...) (write_texts(out, __VA_ARGS__, NULL), (void)fputc('\n', out))

/* Where there is a text. */
static void write_member(FILE *out, const char *label, const json_t *object, const char *name)
{
    const char *text = json_member_string(object, name, "");
    if (*text)
        WRITE_LINE(out, label, text);
}

static const char *configured_mode(const json_t *status)
{
    const char *mode = json_member_string(status, "mode", NULL);
    return mode ? mode
                : json_member_string(json_object_get(status, "policy"), "default_mode", NULL);
}

bool doctor_report_is_available(const json_t *status)
{
    if (json_is_object(json_object_get(status, "error")))
        return false;
    const char *mode = configured_mode(status);
    const json_t *backends = json_object_get(status, "backends");
    size_t index = 0;
    const json_t *backend = NULL;
    json_array_foreach(backends, index, backend)
    {
        bool asked_for = !mode || strcmp(json_member_string(backend, "name", ""), mode) == 0;
        if (asked_for && json_member_true(backend, "available"))
            return true;
    }
    return false;
}

static void write_error(FILE *out, const char *indent, const json_t *error)
{
    if (!json_is_object(error))
        return;
    const char *code = json_member_string(error, "code", "?");
    const char *message = json_member_string(error, "message", "no message");
    const char *hint = json_member_string(error, "hint", "");
    WRITE_LINE(out, indent, "error ", code, ": ", failure_after_code(code, message));
    if (*hint)
        WRITE_LINE(out, indent, "hint: ", hint);
}

static void write_layer(FILE *out, const json_t *layer)
{
    const char *detail = json_member_string(layer, "detail", "");
    WRITE_LINE(out, "  ", json_member_string(layer, "state", "untested"), "  ",
               json_member_string(layer, "name", "?"), *detail ? ": " : "", detail);
    write_member(out, "    remedy: ", layer, "remedy");
}

static bool is_untested(const json_t *layer)
{
    return strcmp(json_member_string(layer, "state", "untested"), "untested") == 0;
}

/* Layers that were not tried are only named. */
static void write_layers(FILE *out, const json_t *layers)
{
    size_t index = 0;
    const json_t *layer = NULL;
    json_array_foreach(layers, index, layer)
    {
        if (!is_untested(layer))
            write_layer(out, layer);
    }
    const char *before = "  untested  ";
    json_array_foreach(layers, index, layer)
    {
        if (!is_untested(layer))
            continue;
        write_texts(out, before, json_member_string(layer, "name", "?"), NULL);
        before = ", ";
    }
    (void)fputs(*before == ',' ? "\n" : "", out);
}

static void write_engine(FILE *out, const json_t *engine)
{
    if (!json_is_object(engine))
        return;
    static const char *const members[] = {"name", "version", "runtime", "runtime_version"};
    write_texts(out, "  engine", NULL);
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        const char *text = json_member_string(engine, members[i], "");
        write_texts(out, *text ? " " : "", text, NULL);
    }
    WRITE_LINE(out, json_member_true(engine, "rootless") ? ", rootless" : "");
}

/* Of a backend that works with several, whatever they are. */
static void write_parts(FILE *out, const json_t *backend)
{
    size_t index = 0;
    const json_t *part = NULL;
    json_array_foreach(json_object_get(backend, "parts"), index, part) write_layer(out, part);
    json_int_t omitted = json_integer_value(json_object_get(backend, "parts_omitted"));
    if (omitted > 0)
        (void)fprintf(out, "  and %lld more\n", (long long)omitted);
}

void doctor_report_write_parts(FILE *out, const json_t *status)
{
    size_t index = 0;
    const json_t *backend = NULL;
    json_array_foreach(json_object_get(status, "backends"), index, backend)
    {
        if (json_array_size(json_object_get(backend, "parts")) == 0)
            continue;
        WRITE_LINE(out, "backend ", json_member_string(backend, "name", "?"));
        write_parts(out, backend);
    }
}

static void write_backend(FILE *out, const json_t *backend)
{
    bool refused = json_is_false(json_object_get(backend, "allowed"));
    WRITE_LINE(out, "backend ", json_member_string(backend, "name", "?"),
               json_member_true(backend, "available") ? ": available" : ": not available",
               refused ? ", not allowed by the policy" : "");
    write_engine(out, json_object_get(backend, "engine"));
    write_parts(out, backend);
    write_error(out, "  ", json_object_get(backend, "error"));
    write_layers(out, json_object_get(backend, "layers"));
}

static bool is_available(const json_t *backends, const char *name)
{
    size_t index = 0;
    const json_t *backend = NULL;
    json_array_foreach(backends, index, backend)
    {
        if (strcmp(json_member_string(backend, "name", ""), name) == 0)
            return json_member_true(backend, "available");
    }
    return false;
}

/* What would be to be had in the place of a mode that is not, and at which price. */
static void write_variant(FILE *out, const json_t *variant, const json_t *backends)
{
    const char *of = json_member_string(variant, "variant_of", "");
    size_t index = 0;
    const json_t *layer = NULL;
    if (!json_member_true(variant, "available") || is_available(backends, of))
        return;
    WRITE_LINE(out, "in place of ", of, ": ", json_member_string(variant, "name", "?"),
               " would be available");
    write_member(out, "  how: ", variant, "how");
    json_array_foreach(json_object_get(variant, "layers"), index, layer)
    {
        if (strcmp(json_member_string(layer, "state", ""), "missing") == 0)
            WRITE_LINE(out, "  without ", json_member_string(layer, "name", "?"), ": ",
                       json_member_string(layer, "detail", ""));
    }
}

/* Of one kind of programs: how the interpreter comes to them, and why not as quickly as it could.
 */
static void write_preparation(FILE *out, const json_t *preparation)
{
    const char *word = json_member_string(preparation, "word", "");
    const char *message = json_member_string(preparation, "message", "");
    write_texts(out, *word ? "    programs that name " : "    other programs", word, ": ",
                json_member_string(preparation, "how", "unknown"), NULL);
    if (*message)
        write_texts(out, ", ", json_member_string(preparation, "code", "?"), ": ", message, NULL);
    (void)fputc('\n', out);
    write_member(out, "      remedy: ", preparation, "remedy");
}

static void write_found_runtime(FILE *out, const char *language, const json_t *runtime)
{
    const char *version = json_member_string(runtime, "version", "");
    size_t index = 0;
    const json_t *preparation = NULL;
    WRITE_LINE(out, "  ", language, ": ", json_member_string(runtime, "path", "found"),
               *version ? ", " : "", version);
    json_array_foreach(json_object_get(runtime, "preparation"), index, preparation)
        write_preparation(out, preparation);
}

static void write_runtime(FILE *out, const json_t *runtime)
{
    const char *language = json_member_string(runtime, "language", "?");
    const char *package = json_member_string(runtime, "package", "");
    const char *image = json_member_string(runtime, "image", "");
    const char *reason =
        json_member_string(json_object_get(runtime, "error"), "message", "no reason");
    if (json_member_true(runtime, "found"))
        write_found_runtime(out, language, runtime);
    else if (*image)
        WRITE_LINE(out, "  ", language, ": not found in ", image, "; ", reason);
    else
        WRITE_LINE(out, "  ", language, ": not found", *package ? "; install " : "", package);
}

static void write_sweep(FILE *out, const json_t *sweep)
{
    write_texts(out, "sweep ", json_member_string(sweep, "mode", "?"), NULL);
    if (json_is_integer(json_object_get(sweep, "removed")))
        (void)fprintf(out, ": %lld removed, %lld left\n",
                      (long long)json_integer_value(json_object_get(sweep, "removed")),
                      (long long)json_integer_value(json_object_get(sweep, "left")));
    else
        (void)fputs(": failed\n", out);
    write_error(out, "  ", json_object_get(sweep, "error"));
}

/* Of a provider that was loaded for this question most have counted nothing. */
static void write_counters(FILE *out, const json_t *counters)
{
    const char *name = NULL;
    json_t *value = NULL;
    const char *heading = "counters\n";
    json_object_foreach((json_t *)(uintptr_t)counters, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        (void)fputs(heading, out);
        heading = "";
        write_texts(out, "  ", name, NULL);
        (void)fprintf(out, ": %lld\n", (long long)json_integer_value(value));
    }
}

void doctor_report_write(FILE *out, const json_t *status)
{
    const json_t *policy = json_object_get(status, "policy");
    const char *mode = configured_mode(status);
    if (mode)
        WRITE_LINE(out, "mode ", mode,
                   doctor_report_is_available(status) ? ": available" : ": not available");
    write_member(out, "policy ", policy, "source");
    write_member(out, "  sha256 ", policy, "sha256");
    write_error(out, "", json_object_get(status, "error"));
    size_t index = 0;
    const json_t *item = NULL;
    json_array_foreach(json_object_get(status, "sweep"), index, item) write_sweep(out, item);
    json_array_foreach(json_object_get(status, "backends"), index, item) write_backend(out, item);
    json_array_foreach(json_object_get(status, "variants"), index, item)
        write_variant(out, item, json_object_get(status, "backends"));
    const json_t *runtimes = json_object_get(status, "runtimes");
    if (json_array_size(runtimes) > 0)
        (void)fputs("runtimes\n", out);
    json_array_foreach(runtimes, index, item) write_runtime(out, item);
    write_counters(out, json_object_get(status, "counters"));
}
