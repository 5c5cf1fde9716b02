/* SPDX-License-Identifier: Apache-2.0 */
/* Prints audit records for people. Main thread. */
#include "audit/audit_show.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text_escape.h"

static void put_text(FILE *out, const char *text)
{
    text_escape_write(out, text, strlen(text));
}

/* "LABEL text", where there is a text. */
static void put_labelled(FILE *out, const char *label, const char *text)
{
    if (!text)
        return;
    (void)fprintf(out, "%s", label);
    put_text(out, text);
}

/* "LABEL text" of a member where there is one, whatever characters it has: no part is hidden. */
static void put_member(FILE *out, const char *label, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return;
    (void)fprintf(out, "%s", label);
    text_escape_write(out, json_string_value(value), json_string_length(value));
}

static void put_list(FILE *out, const char *label, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *text = json_array_get(list, i);
        (void)fprintf(out, "%s", i == 0 ? label : ", ");
        if (json_is_string(text))
            text_escape_write(out, json_string_value(text), json_string_length(text));
        else
            (void)fputc('?', out);
    }
}

static void put_number(FILE *out, const char *label, const json_t *object, const char *name,
                       const char *unit)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value))
        (void)fprintf(out, "%s%lld%s", label, (long long)json_integer_value(value), unit);
}

static const json_t *record_of(const json_t *entry)
{
    return json_object_get(entry, "record");
}

static const char *status_of(const json_t *first, const json_t *end)
{
    if (end)
        return json_member_string(record_of(end), "status", "ended");
    const char *event = json_member_string(record_of(first), "event", "?");
    return strcmp(event, "start") == 0 ? "unended"
                                       : json_member_string(record_of(first), "status", event);
}

static bool in_time(const struct audit_filter *filter, const char *time)
{
    return strncmp(time, filter->since, strlen(filter->since)) >= 0 &&
           (!filter->until[0] || strncmp(time, filter->until, strlen(filter->until)) <= 0);
}

static bool matches(const char *wanted, const char *found)
{
    return !wanted || strcmp(wanted, found) == 0;
}

static bool is_chosen(const struct audit_filter *filter, const json_t *first, const json_t *end)
{
    const json_t *record = record_of(first);
    return in_time(filter, json_member_string(first, "time", "")) &&
           matches(filter->run, json_member_string(record, "run_id", "")) &&
           matches(filter->principal, json_member_string(record, "principal", "")) &&
           matches(filter->status, status_of(first, end));
}

static void put_origin(FILE *out, const json_t *record)
{
    const json_t *approval = json_object_get(record, "approval");
    put_member(out, "\n  run ", record, "run_id");
    put_member(out, " of ", record, "principal");
    put_member(out, ", session ", record, "session");
    put_member(out, "\n  approval ", approval, "decision");
    put_member(out, " by ", approval, "approver");
}

static void put_hashes(FILE *out, const json_t *record)
{
    put_member(out, "\n  code    ", record, "code_sha256");
    put_member(out, "\n  request ", record, "request_sha256");
    put_member(out, "\n  image   ", record, "image_id");
    put_member(out, "\n  policy  ", record, "policy_sha256");
    put_member(out, "\n  trace   ", record, "traceparent");
    put_list(out, "\n  secrets ", json_object_get(record, "secrets"));
    put_list(out, "\n  endpoints ", json_object_get(record, "endpoints"));
}

/* The places in the code that the approver was shown. */
static void put_findings(FILE *out, const json_t *record)
{
    const json_t *findings = json_object_get(record, "content_findings");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        (void)fputs("\n  finding", out);
        put_member(out, " ", finding, "rule");
        if (!json_is_string(json_object_get(finding, "rule")))
            (void)fputs(" ?", out);
        put_number(out, " at line ", finding, "line", "");
        put_number(out, ", column ", finding, "column", "");
        put_member(out, " of ", finding, "file");
    }
    if (json_integer_value(json_object_get(record, "content_findings_more")) > 0)
        put_number(out, "\n  finding and ", record, "content_findings_more", " more");
}

static void put_end(FILE *out, const json_t *record)
{
    put_number(out, ", exit status ", record, "exit_code", "");
    put_member(out, ", ", record, "signal");
    put_number(out, ", ", record, "duration_ms", " ms");
    put_member(out, ", error ", record, "error");
    put_member(out, ": ", record, "message");
}

static void put_layers(FILE *out, const json_t *record)
{
    const json_t *isolation = json_object_get(record, "isolation");
    put_list(out, "\n  layers  ", json_object_get(isolation, "applied"));
    put_list(out, "\n  missing ", json_object_get(isolation, "missing"));
}

/* As it stands in the log, on a line of its own. */
static void put_json(FILE *out, const json_t *entry)
{
    CLEANUP_FREE char *text = entry ? json_compact(entry) : NULL;
    if (text)
        (void)fprintf(out, "%s\n", text);
}

/* first: the start, or all there is. */
static void show_block(struct audit_show *show, const json_t *first, const json_t *end)
{
    FILE *out = show->out;
    const json_t *record = record_of(first);
    if (!is_chosen(&show->filter, first, end))
        return;
    show->count++;
    if (show->json) {
        put_json(out, first);
        put_json(out, end);
        return;
    }
    put_text(out, json_member_string(first, "time", "?"));
    put_labelled(out, "  ", status_of(first, end));
    put_member(out, "  ", record, "language");
    put_member(out, " in mode ", record, "mode");
    if (json_member_true(record, "network"))
        (void)fputs(" with network", out);
    put_end(out, end ? record_of(end) : record);
    put_origin(out, record);
    put_hashes(out, record);
    put_findings(out, record);
    put_layers(out, end ? record_of(end) : record);
    (void)fputc('\n', out);
}

/* The log's own lines belong to no run. */
static void show_own(struct audit_show *show, const struct audit_entry *entry)
{
    const struct audit_filter *filter = &show->filter;
    if (filter->run || filter->principal || filter->status || !in_time(filter, entry->time))
        return;
    show->count++;
    if (show->json) {
        put_json(show->out, entry->json);
        return;
    }
    put_text(show->out, entry->time);
    put_member(show->out, "  log ", entry->log, "event");
    put_labelled(show->out, " after ", audit_own_entry_previous_file(entry));
    put_member(show->out, " to ", entry->log, "key");
    (void)fputc('\n', show->out);
}

bool audit_show_begin(int out, const struct audit_filter *filter, bool json, struct audit_show *ret,
                      struct failure *failure)
{
    CLEANUP_CLOSE int fd = fcntl(out, F_DUPFD_CLOEXEC, 3);
    json_auto_t *started = json_object();
    FILE *stream = started ? fdopen(fd, "w") : NULL;
    if (!stream)
        return failure_out_of_memory(failure);
    (void)TAKE_FD(fd);
    *ret = (struct audit_show){stream, *filter, json, TAKE_POINTER(started), 0};
    return true;
}

void audit_show_entry(struct audit_show *show, const struct audit_entry *entry)
{
    if (!entry->record) {
        show_own(show, entry);
        return;
    }
    const char *event = json_member_string(entry->record, "event", "");
    const char *run = json_member_string(entry->record, "run_id", "");
    if (strcmp(event, "start") == 0 && run[0] &&
        json_object_set(show->started, run, entry->json) == 0)
        return;
    const json_t *start = strcmp(event, "end") == 0 ? json_object_get(show->started, run) : NULL;
    if (!start) {
        show_block(show, entry->json, NULL);
        return;
    }
    show_block(show, start, entry->json);
    (void)json_object_del(show->started, run);
}

size_t audit_show_end(struct audit_show *show)
{
    for (void *place = json_object_iter(show->started); place;
         place = json_object_iter_next(show->started, place))
        show_block(show, json_object_iter_value(place), NULL);
    (void)fclose(show->out);
    json_decref(show->started);
    size_t count = show->count;
    *show = (struct audit_show){0};
    return count;
}
