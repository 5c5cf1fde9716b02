/* SPDX-License-Identifier: Apache-2.0 */
/* Draws an approval request for a person. Pure code, any thread. */
#include "approval/approval.h"

#include <stdint.h>
#include <string.h>

#include "approval/approval_page.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "base/utf8.h"

#define CELLS_SHOWN   20u
#define NAMES_SHOWN   8u
#define NAME_SHOWN    24u /* bytes */
#define LEAST_COLUMNS 40u

static const char unshowable[] = "(cannot be shown)";

static void show_value(struct page *page, const char *label, const json_t *value)
{
    if (json_is_string(value)) {
        page_line(page, label, json_string_value(value), json_string_length(value));
        return;
    }
    CLEANUP_FREE char *text = json_text(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text)
        page_line(page, label, text, strlen(text));
    else
        page_line(page, label, unshowable, strlen(unshowable));
}

/* Members that stand on one row, broken between them. */
struct member_row {
    struct page *page;
    const char *label; /* of the row to come */
    size_t used;
    char text[PAGE_COLUMNS];
};

static void end_row(struct member_row *row)
{
    if (row->used == 0)
        return;
    page_line(row->page, row->label, row->text, row->used);
    row->label = "";
    row->used = 0;
}

static void add_member(struct member_row *row, const char *text)
{
    size_t room = row->page->columns - PAGE_LABEL_WIDTH - 4;
    size_t length = strlen(text);
    if (row->used + 1 + length > room)
        end_row(row);
    if (length > room) {
        page_line(row->page, row->label, text, length);
        row->label = "";
        return;
    }
    int written = snprintf(row->text + row->used, sizeof(row->text) - row->used, "%s%s",
                           row->used > 0 ? " " : "", text);
    row->used += written > 0 ? (size_t)written : 0;
}

/* name: value, name: value; both as JSON has them, so that no value can be taken for a member. */
static void show_members(struct page *page, const char *label, const json_t *value)
{
    struct member_row row = {.page = page, .label = label};
    size_t left = json_object_size(value);
    const char *name = NULL;
    json_t *member = NULL;
    if (left == 0) {
        show_value(page, label, value);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        json_auto_t *one = json_pack("{s:O}", name, member);
        CLEANUP_FREE char *text = one ? json_text(one, 0) : NULL;
        left--;
        if (text) /* without its braces */
            text[strlen(text) - 1] = left > 0 ? ',' : '\0';
        add_member(&row, text ? text + 1 : unshowable);
    }
    end_row(&row);
}

/* Where the code should be looked at, and why. */
static void show_finding(struct page *page, const char *label, const json_t *finding)
{
    CLEANUP_FREE char *text = NULL;
    json_int_t line = json_member_integer(finding, "line", 0);
    const char *file = json_member_string(finding, "file", NULL);
    if (asprintf(&text, "%s%sline %lld: %s (%s)", file ? file : "", file ? " " : "",
                 (long long)line, json_member_string(finding, "message", "?"),
                 json_member_string(finding, "rule", "?")) < 0)
        text = NULL;
    page_line(page, label, text ? text : unshowable, strlen(text ? text : unshowable));
}

static void show_count(struct page *page, const char *label, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) != 0)
        show_value(page, label, value);
}

static void show_text(struct page *page, const char *label, const json_t *value)
{
    if (json_is_string(value))
        page_listing(page, label, json_string_value(value), json_string_length(value));
    else
        show_value(page, label, value);
}

/* A line for each member. JSON escapes the line breaks of texts, so that none begins a line. */
static void show_json(struct page *page, const char *label, const json_t *value)
{
    CLEANUP_FREE char *text = json_text(value, JSON_INDENT(2) | JSON_ENCODE_ANY);
    if (text)
        page_listing(page, label, text, strlen(text));
    else
        page_line(page, label, unshowable, strlen(unshowable));
}

/* All members of a file but its content on one line, then the content as it is. */
static void show_file(struct page *page, const char *label, const json_t *file)
{
    const json_t *content = json_object_get(file, "content");
    json_auto_t *rest = json_is_object(file) ? json_copy((json_t *)(uintptr_t)file) : NULL;
    if (!json_is_string(content) || !rest) {
        show_value(page, label, file);
        return;
    }
    (void)json_object_del(rest, "content");
    show_value(page, label, rest);
    page_listing(page, "its content", json_string_value(content), json_string_length(content));
}

/* New: the last names of a list, shortened. The program has made them up. */
static json_t *last_names(const json_t *names)
{
    size_t count = json_array_size(names);
    json_t *ret = json_array();
    for (size_t i = count > NAMES_SHOWN ? count - NAMES_SHOWN : 0; i < count; i++) {
        char name[NAME_SHOWN + 1];
        const char *whole = json_string_value(json_array_get(names, i));
        (void)snprintf(name, sizeof(name), "%s", whole ? whole : "");
        utf8_end_whole(name);
        (void)json_array_append_new(ret, json_string(name));
    }
    return ret;
}

/* As JSON has it, so that no line of code and no name can be taken for another part of the row. */
static void write_quoted(FILE *out, const char *lead, const json_t *value)
{
    CLEANUP_FREE char *text = value ? json_text(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    (void)fprintf(out, "%s%s", lead, text ? text : unshowable);
}

static void write_earlier_cell(FILE *out, const json_t *cell)
{
    const json_t *names = json_object_get(cell, "defined");
    const char *language = json_member_string(cell, "language", NULL);
    json_int_t exit_code = json_member_integer(cell, "exit_code", -1);
    if (json_is_true(json_object_get(cell, "undone")))
        (void)fputs("undone, ", out);
    if (language)
        (void)fprintf(out, "%s, ", language);
    if (exit_code < 0)
        (void)fputs("no exit code", out);
    else
        (void)fprintf(out, "exit %lld", (long long)exit_code);
    write_quoted(out, ": ", json_object_get(cell, "first_line"));
    if (json_array_size(names) == 0)
        return;
    json_auto_t *shown = last_names(names);
    (void)fprintf(out, ", %zu name%s", json_array_size(names),
                  json_array_size(names) == 1 ? "" : "s");
    write_quoted(out, json_array_size(names) > NAMES_SHOWN ? ", the last: " : ": ", shown);
}

static void show_earlier_cell(struct page *page, size_t number, const json_t *cell)
{
    char label[32];
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)snprintf(label, sizeof(label), "cell %zu", number);
    if (out) {
        write_earlier_cell(out, cell);
        (void)fclose(out);
    }
    page_line(page, label, text ? text : unshowable, text ? length : strlen(unshowable));
}

static void show_place(struct page *page, const char *label, const json_t *history, size_t count)
{
    char place[32] = "";
    CLEANUP_FREE char *text = NULL;
    if (count > 0)
        (void)snprintf(place, sizeof(place), ", cell %zu", count + 1);
    if (asprintf(&text, "%s%s", json_member_string(history, "id", "?"), place) < 0)
        text = NULL;
    page_line(page, label, text ? text : unshowable, strlen(text ? text : unshowable));
}

/* A cell can read them, whatever its own request says. */
static void show_session_secrets(struct page *page, const json_t *secrets, bool begins)
{
    static const char stay[] = "they stay until the session ends: later cells can read them";
    static const char held[] = "this cell can read them: its session was begun with them";
    if (json_object_size(secrets) == 0)
        return;
    show_value(page, "its secrets", secrets);
    page_line(page, "", begins ? stay : held, strlen(begins ? stay : held));
}

/* What ran in those is theirs, and not in this history. */
static void show_neighbours(struct page *page, json_int_t count)
{
    char text[128];
    if (count <= 0)
        return;
    (void)snprintf(text, sizeof(text),
                   "shares its sandbox, by fork, with %lld other%s: not shown here",
                   (long long)count, count == 1 ? "" : "s");
    page_line(page, "", text, strlen(text));
}

/* What ran in a session before decides what the code does there. Not all of it: a question must
 * stay short enough for a client's form. Of a long history the provider sends the last cells. */
static void show_history(struct page *page, const char *label, const json_t *history)
{
    const json_t *cells = json_object_get(history, "cells");
    size_t sent = json_array_size(cells);
    size_t first = sent > CELLS_SHOWN ? sent - CELLS_SHOWN : 0;
    json_int_t told = json_member_integer(history, "count", 0);
    size_t unsent = told > (json_int_t)sent ? (size_t)told - sent : 0;
    if (!json_is_array(cells)) {
        show_value(page, label, history);
        return;
    }
    show_place(page, label, history, unsent + sent);
    show_session_secrets(page, json_object_get(history, "secrets"), unsent + sent == 0);
    show_neighbours(page, json_member_integer(history, "shares_sandbox_with", 0));
    if (unsent + first > 0)
        (void)fprintf(page->out, "  %-*s| ... %zu earlier cell%s not shown\n", PAGE_LABEL_WIDTH, "",
                      unsent + first, unsent + first == 1 ? "" : "s");
    for (size_t i = first; i < sent; i++)
        show_earlier_cell(page, unsent + i + 1, json_array_get(cells, i));
}

struct shown_member {
    const char *name;
    const char *label;
    void (*show)(struct page *page, const char *label, const json_t *value);
    const char *element; /* of an array, each is shown by itself under this label; NULL: as one */
};

static void show_elements(struct page *page, const struct shown_member *member, const json_t *array)
{
    bool numbered = member->show == show_value; /* nothing else tells one from the next */
    size_t index = 0;
    const json_t *element = NULL;
    json_array_foreach(array, index, element)
    {
        char label[32];
        (void)snprintf(label, sizeof(label), numbered ? "%s %zu" : "%s", member->element,
                       index + 1);
        member->show(page, label, element);
    }
}

static void show_member(struct page *page, const struct shown_member *member, const json_t *value)
{
    if (!member->element)
        member->show(page, member->label, value);
    else if (json_is_array(value))
        show_elements(page, member, value);
    else
        show_value(page, member->label, value);
}

/* In the order in which a person asks: what, how, with which powers; the code last, next to the
 * question. */
static const struct shown_member first_members[] = {
    {"tool", "tool", show_value, NULL},
    {"language", "language", show_value, NULL},
    {"mode", "mode", show_value, NULL},
    {"network", "network", show_value, NULL},
    {"endpoint_definitions", "endpoints", show_members, "endpoint"},
    {"secrets", "secrets", show_value, NULL},
    {"limits", "limits", show_members, NULL},
    {"environment", "environment", show_members, NULL},
};

static const struct shown_member first_of_call[] = {
    {"kind", "kind", show_value, NULL},
    {"tool", "tool", show_value, NULL},
    {"title", "title", show_value, NULL},
    {"asked_by", "asked by", show_value, NULL},
    {"called_before", "called before", show_value, NULL},
    {"run_id", "run", show_value, NULL},
    {"seq", "call number", show_value, NULL},
    {"run_request_sha256", "run's request", show_value, NULL},
};

static const struct shown_member last_of_call[] = {
    {"session", "conversation", show_value, NULL},
    {"reason", "the agent says", show_value, NULL},
    {"request_sha256", "call sha256", show_value, NULL},
    {"description", "description", show_text, NULL},
    {"arguments", "arguments", show_json, NULL},
};

static const struct shown_member last_members[] = {
    {"session", "conversation", show_value, NULL},
    {"session_history", "session", show_history, NULL},
    {"reason", "the agent says", show_value, NULL},
    {"request_sha256", "request sha256", show_value, NULL},
    {"content_findings", "finding", show_finding, "finding"},
    {"content_findings_more", "more findings", show_count, NULL},
    {"args", "args", show_value, "argument"},
    {"files", "files", show_file, "file"},
    {"stdin", "stdin", show_text, NULL},
    {"code", "code", show_text, NULL},
};

/* About the question, and not about what would run: none is in the request's hash. The arguments
 * of a run repeat the other members. What neither this nor a plan names is shown, too. */
static const char *const left_out[] = {
    "allowed_decisions", "approval_id", "arguments", "decision_members",
    "expires_in_ms",     "in_band",     "run_id"};

/* What is shown of a request, and in which order. */
struct page_plan {
    const struct shown_member *first;
    size_t first_count;
    const struct shown_member *last;
    size_t last_count;
};

static const struct page_plan of_run = {first_members, COUNT_OF(first_members), last_members,
                                        COUNT_OF(last_members)};
static const struct page_plan of_call = {first_of_call, COUNT_OF(first_of_call), last_of_call,
                                         COUNT_OF(last_of_call)};

/* A file is decided upon by its content, which only the arguments have. */
static const json_t *member_to_show(const json_t *request, const char *name)
{
    const json_t *files = json_object_get(json_object_get(request, "arguments"), "files");
    return strcmp(name, "files") == 0 && json_is_array(files) ? files
                                                              : json_object_get(request, name);
}

static bool is_empty(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_object(value) && !json_object_size(value)) ||
           (json_is_array(value) && !json_array_size(value));
}

static bool is_listed(const struct shown_member *members, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members[i].name, name) == 0)
            return true;
    }
    return false;
}

static void show_listed(struct page *page, const json_t *request,
                        const struct shown_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = member_to_show(request, members[i].name);
        if (!is_empty(value))
            show_member(page, &members[i], value);
    }
}

/* A provider may say more than this toolhost knows: nothing of it is hidden from the person. */
static void show_others(struct page *page, const json_t *request, const struct page_plan *plan)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)request, name, value)
    {
        bool skip = is_empty(value) || is_listed(plan->first, plan->first_count, name) ||
                    is_listed(plan->last, plan->last_count, name);
        for (size_t i = 0; i < COUNT_OF(left_out); i++)
            skip = skip || strcmp(left_out[i], name) == 0;
        if (skip)
            continue;
        CLEANUP_FREE char *label = NULL;
        size_t label_size = 0;
        FILE *stream = open_memstream(&label, &label_size);
        if (!stream)
            continue;
        text_escape_write(stream, name, strnlen(name, 24));
        (void)fclose(stream);
        show_value(page, label, value);
    }
}

size_t approval_show(FILE *out, const json_t *request, unsigned columns, unsigned row_limit)
{
    struct page page = {.out = out, .columns = columns, .row_limit = row_limit};
    if (page.columns < LEAST_COLUMNS)
        page.columns = LEAST_COLUMNS;
    if (page.columns > PAGE_COLUMNS)
        page.columns = PAGE_COLUMNS;
    const struct page_plan *plan = approval_is_of_call(request) ? &of_call : &of_run;
    show_listed(&page, request, plan->first, plan->first_count);
    show_others(&page, request, plan);
    show_listed(&page, request, plan->last, plan->last_count);
    return page.hidden;
}
