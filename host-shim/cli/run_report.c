/* SPDX-License-Identifier: Apache-2.0 */
/* Reports a result's values, displays and files. Main thread. */
#include "cli/run_output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "formats/result_file.h"
#include "formats/shown_result.h"

#define PICTURE_LIMIT (8u << 20) /* bytes that a terminal is given */

/* "LABEL: FILE: REASON" as a notice. */
static void print_file(const char *label, const struct result_file *file, const char *more)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *line = open_memstream(&text, &length);
    if (!line)
        return;
    (void)fprintf(line, "%s ", label);
    result_file_describe(file, line);
    if (more)
        (void)fprintf(line, ": %s", more);
    if (fclose(line) == 0)
        console_print_notice(text);
}

static bool write_file(const struct run_report *report, struct result_file *file)
{
    struct failure failure;
    CLEANUP_FREE char *path = NULL;
    CLEANUP_CLOSE int fd = result_file_open(file, report->artifacts, &failure);
    if (fd >= 0 && output_directory_write(report->directory, file->path, fd, &path, &failure)) {
        if (!report->quiet)
            print_file("wrote", file, path);
        (void)json_object_set_new(file->entry, "written", json_string(path));
        return true;
    }
    print_file("not written:", file, failure.message);
    (void)json_object_set_new(file->entry, "not_written", json_string(failure.message));
    return false;
}

static void keep_file(const struct run_report *report, struct result_file *file)
{
    struct failure failure;
    bool kept = file->uri || result_file_keep(file, report->artifacts, &failure);
    if (!kept)
        print_file("not kept:", file, failure.message);
    else if (!report->quiet)
        print_file("file", file, file->uri);
}

static void show_picture(const struct run_report *report, const struct result_file *file)
{
    struct failure ignored;
    bool wanted =
        report->pictures != TERMINAL_PICTURES_NONE && shown_result_is_picture_type(file->mime_type);
    CLEANUP_CLOSE int fd = wanted ? result_file_open(file, report->artifacts, &ignored) : -1;
    CLEANUP_FREE char *bytes = fd >= 0 ? malloc(PICTURE_LIMIT + 1) : NULL;
    ssize_t length = bytes ? read_up_to(fd, bytes, PICTURE_LIMIT + 1) : -1;
    if (length > 0 && (size_t)length <= PICTURE_LIMIT)
        terminal_picture_show(report->out, report->pictures, file->mime_type, bytes,
                              (size_t)length);
}

/* What the provider has left out is the run's limit, and no failure of ours. */
static bool take_file(const struct run_report *report, struct result_file *file)
{
    if (!file->content && !file->uri) {
        if (!report->quiet)
            print_file("file", file, file->omitted ? NULL : "it has no content");
        return true;
    }
    show_picture(report, file);
    if (report->directory)
        return write_file(report, file);
    keep_file(report, file);
    return true;
}

static bool take_files(const struct run_report *report, const json_t *result)
{
    bool all = true;
    size_t index = 0;
    json_t *entry = NULL;
    json_array_foreach(json_object_get(result, "files"), index, entry)
    {
        struct result_file file;
        if (result_file_read(entry, &file))
            all = take_file(report, &file) && all;
    }
    return all;
}

static void print_text(const struct run_report *report, const json_t *text)
{
    const char *bytes = json_string_value(text);
    size_t length = json_string_length(text);
    if (report->quiet || report->out < 0)
        return;
    (void)write_fully(report->out, bytes, length);
    if (length > 0 && bytes[length - 1] != '\n')
        (void)write_fully(report->out, "\n", 1);
}

static bool take_picture(const struct run_report *report, json_t *shown, unsigned number)
{
    static const char *const told[] = {"written", "not_written", "uri"};
    struct result_file file;
    json_auto_t *entry = shown_result_file(shown, number);
    if (!entry || !result_file_read(entry, &file))
        return false;
    bool taken = take_file(report, &file);
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        json_t *value = json_object_get(entry, told[i]);
        if (value)
            (void)json_object_set(shown, told[i], value);
    }
    return taken;
}

static bool take_results(const struct run_report *report, const json_t *result)
{
    bool all = true;
    unsigned pictures = 0;
    size_t index = 0;
    json_t *shown = NULL;
    json_array_foreach(json_object_get(result, "results"), index, shown)
    {
        const json_t *text = shown_result_text(shown);
        if (text)
            print_text(report, text);
        else
            all = take_picture(report, shown, ++pictures) && all;
    }
    return all;
}

static void print_omitted(const json_t *result, const char *member, const char *what)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *line = open_memstream(&text, &length);
    if (!line)
        return;
    result_omitted_describe(json_object_get(result, member), what, line);
    if (fclose(line) == 0 && length > 0)
        console_print_notice(text);
}

bool run_report_make(const struct run_report *report, json_t *result)
{
    bool shown = take_results(report, result);
    bool written = take_files(report, result);
    if (!report->quiet) {
        print_omitted(result, "results_omitted", "results");
        print_omitted(result, "files_omitted", "files");
    }
    return shown && written;
}
