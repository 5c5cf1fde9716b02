/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkers of the gateway or the operator: the question to them, and the reader of their answers.
 * Anything but a valid answer is a failed check. Runs in the gateway, on the thread inside
 * tool_invoke().
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "content/content_checkers.h"
#include "host/host.h"
#include "json/json_place.h"

#define ANSWER_DEPTH_LIMIT 4

/* Absent and null: the program itself. */
static bool read_file(const struct call *call, const struct json_place *place, const json_t *object,
                      uint32_t *ret)
{
    const json_t *value = json_object_get(object, "file");
    struct json_place file = json_place_named(place, "file");
    const char *path;
    *ret = 0;
    if (!value || json_typeof(value) == JSON_NULL)
        return true;
    if (!json_read_string(&file, value, 1, REQUEST_PATH_LIMIT, &path))
        return false;
    for (size_t i = 0; i < call->request.file_count; i++)
        if (strcmp(call->request.files[i].path, path) == 0) {
            *ret = (uint32_t)i + 1;
            return true;
        }
    return json_place_refuse(&file, "is no file of the request");
}

static bool read_finding(const struct call *call, const struct json_place *place, json_t *object,
                         struct content_finding *finding)
{
    static const char *const members[] = {"file", "line", "column", "rule", "message", NULL};
    const char *rule;
    const char *message;
    if (!json_read_known_members(place, object, members) ||
        !read_file(call, place, object, &finding->file) ||
        !content_read_number(place, object, "line", 1, CONTENT_PLACE_LIMIT, &finding->line) ||
        !content_read_number(place, object, "column", 1, CONTENT_PLACE_LIMIT, &finding->column) ||
        !content_read_text(place, object, "rule", CONTENT_RULE_LIMIT, &rule) ||
        !content_read_text(place, object, "message", CONTENT_MESSAGE_LIMIT, &message))
        return false;
    content_describe(finding, rule, "%s", message);
    return true;
}

/* false with error: it is no answer. */
static bool read_answer(struct call *call, const char *text, size_t length, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = CONTENT_ANSWER_LIMIT,
                                                    .max_depth = ANSWER_DEPTH_LIMIT};
    static const char *const members[] = {"findings", NULL};
    json_auto_t *json =
        json_input_parse("answer", text, length, &limits, ERROR_CONTENT_REFUSED, error);
    if (!json)
        return false;
    struct json_place root = json_place_root("answer", ERROR_CONTENT_REFUSED, error);
    struct json_place list = json_place_named(&root, "findings");
    const json_t *findings = json_object_get(json, "findings");
    if (!json_read_known_members(&root, json, members) ||
        !json_read_array(&list, findings, 0, CONTENT_ANSWER_LIMIT))
        return false;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        struct json_place place = json_place_item(&list, i);
        struct content_finding finding = {0};
        if (!read_finding(call, &place, json_array_get(findings, i), &finding))
            return false;
        if (!content_add(&call->content, &finding))
            return json_place_out_of_memory(&place);
    }
    return true;
}

struct content_answer content_outside_answer(struct call *call, const char *who, const char *text,
                                             size_t length, struct error *error)
{
    const size_t count = call->content.count;
    const uint64_t more = call->content.more;
    struct error fault;
    if (read_answer(call, text, length, &fault))
        return (struct content_answer){.verdict = CONTENT_READ};
    call->content.count = count; /* half an answer is none */
    call->content.more = more;
    return fault.code == ERROR_OUT_OF_MEMORY ? content_out_of_memory(error)
                                             : content_failed(who, fault.message);
}

struct content_answer content_ask_host(struct call *call, struct error *error)
{
    static const char who[] = "the gateway";
    if (!host_checks_content(&call->host))
        return content_failed(who, "it offers none");
    size_t length = 0;
    CLEANUP_FREE char *question = call_content_question(call, &length);
    CLEANUP_FREE char *text = malloc(CONTENT_ANSWER_LIMIT);
    if (!question || !text)
        return content_out_of_memory(error);
    if (!host_check_content(&call->host, question, text, CONTENT_ANSWER_LIMIT, &length))
        return content_failed(who, "it gave no answer");
    return content_outside_answer(call, who, text, length, error);
}
