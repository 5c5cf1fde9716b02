/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python program read by its syntax tree. Parsing untrusted text can exhaust memory or time, or
 * crash the parser. So a program of ours (plugin/content/) does it in a sandbox like the one that
 * the program would get: never in the gateway, and never in mode none. Its answer is untrusted too.
 * Runs in the gateway, on the thread inside tool_invoke().
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "content/content_checkers.h"
#include "content/content_program.h"
#include "run/describe.h"

#define ANSWER_DEPTH_LIMIT 4
#define NAME_LIMIT         160
#define REASON_LIMIT       160

/* %s is the name that the program has for it. */
static const struct {
    const char *rule;
    const char *message;
} rules_of_checker[] = {
    {"forbidden_module", "imports %s, which the policy forbids"},
    {"module_not_allowed", "imports %s, which is not in the policy's list of modules"},
    {"forbidden_name", "uses %s, which the policy forbids"},
    {"dynamic_import", "imports by %s a module whose name is not constant"},
    {"dynamic_code", "runs by %s code that is not constant"},
    {"dynamic_attribute", "takes from %s an attribute whose name is not constant"},
    {"declared_encoding", "declares the encoding %s: it runs as other text than is shown"},
    {"hidden_direction", "has a %s: its text is shown in another order than it runs"},
};

/* The answer as it is read. */
struct reading {
    struct call *call;
    struct json_place root;
    json_t *json;
    const uint32_t *files; /* numbers of the inputs */
    size_t file_count;
};

/* NULL is JSON's null: there is no list. */
static void write_list(struct json_draft *draft, const char *name, char *const *list)
{
    if (!list) {
        json_draft_string(draft, name, NULL);
        return;
    }
    json_draft_open(draft, name, '[');
    for (; *list; list++)
        json_draft_string(draft, NULL, *list);
    json_draft_close(draft, ']');
}

static bool is_python(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".py") == 0;
}

/* The modules that the request brings, by files and directories beside the program. */
static void write_own_modules(struct json_draft *draft, const struct request *request)
{
    json_draft_open(draft, "own_modules", '[');
    for (size_t i = 0; i < request->file_count; i++) {
        const char *path = request->files[i].path;
        if (is_python(path))
            json_draft_bytes(draft, NULL, path, strcspn(path, "/."));
    }
    json_draft_close(draft, ']');
}

/* New; NULL when out of memory. */
static char *make_rules(const struct call *call, const struct content_rules *rules, size_t inputs,
                        size_t *ret_length)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    static char *const none[] = {NULL};
    json_draft_open(&draft, NULL, '{');
    json_draft_integer(&draft, "inputs", (int64_t)inputs);
    write_list(&draft, "allowed_modules", rules->allowed_modules);
    write_list(&draft, "forbidden_modules",
               rules->forbidden_modules ? rules->forbidden_modules : none);
    write_list(&draft, "forbidden_names", rules->forbidden_names ? rules->forbidden_names : none);
    write_own_modules(&draft, &call->request);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, ret_length);
}

static bool add_input(struct run_description *description, const void *content, size_t length)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "input/%zu",
                   description->file_count - CONTENT_PROGRAM_FILES - 1);
    return describe_add_file(description, path, content, length);
}

/* The checker, its rules, and the files that it reads; *ret_files are the numbers of the latter. */
static bool describe(const struct call *call, const struct content_rules *rules,
                     uint32_t *ret_files, size_t *ret_count, struct run_description *ret)
{
    const struct request *request = &call->request;
    size_t count = 0;
    ret_files[count++] = 0;
    for (size_t i = 0; i < request->file_count; i++)
        if (is_python(request->files[i].path))
            ret_files[count++] = (uint32_t)i + 1;
    size_t length = 0;
    CLEANUP_FREE char *text = make_rules(call, rules, count, &length);
    if (!text || !content_plan_check(call, count + CONTENT_PROGRAM_FILES + 1, ret) ||
        !describe_add_file(ret, call->language->file, python_check_text, python_check_length) ||
        !describe_add_file(ret, "constant_fold.py", constant_fold_text, constant_fold_length) ||
        !describe_add_file(ret, "rules.json", text, length) ||
        !add_input(ret, request->code, request->code_length))
        return false;
    for (size_t i = 1; i < count; i++) {
        const struct run_file *file = &request->files[ret_files[i] - 1];
        if (!add_input(ret, file->content, file->length))
            return false;
    }
    *ret_count = count;
    return true;
}

static const char *message_of(const char *rule)
{
    for (size_t i = 0; i < COUNT_OF(rules_of_checker); i++)
        if (strcmp(rules_of_checker[i].rule, rule) == 0)
            return rules_of_checker[i].message;
    return NULL;
}

/* No direction marks or look-alikes: the approver sees it. */
static bool read_ascii(const struct json_place *place, const json_t *object, const char *name,
                       size_t limit, const char **ret)
{
    struct json_place text = json_place_named(place, name);
    if (!content_read_text(place, object, name, limit, ret))
        return false;
    for (const char *byte = *ret; *byte; byte++)
        if ((unsigned char)*byte > 0x7F)
            return json_place_refuse(&text, "must be ASCII");
    return true;
}

static bool read_where(const struct reading *reading, const struct json_place *place,
                       const json_t *object, struct content_finding *finding)
{
    uint32_t file;
    if (!content_read_number(place, object, "file", 0, (int64_t)reading->file_count - 1, &file) ||
        !content_read_number(place, object, "line", 1, CONTENT_PLACE_LIMIT, &finding->line) ||
        !content_read_number(place, object, "column", 1, CONTENT_PLACE_LIMIT, &finding->column))
        return false;
    finding->file = reading->files[file];
    return true;
}

static bool read_finding(const struct reading *reading, const struct json_place *place,
                         const json_t *object, struct content_finding *finding)
{
    static const char *const members[] = {"file", "line", "column", "rule", "name", NULL};
    struct json_place rule_place = json_place_named(place, "rule");
    const char *rule;
    const char *name;
    if (!json_read_known_members(place, object, members) ||
        !read_where(reading, place, object, finding) ||
        !read_ascii(place, object, "rule", CONTENT_RULE_LIMIT, &rule) ||
        !read_ascii(place, object, "name", NAME_LIMIT, &name))
        return false;
    const char *message = message_of(rule);
    if (!message)
        return json_place_refuse(&rule_place, "is no rule");
    const char *after = strstr(message, "%s") + 2;
    content_describe(finding, rule, "%.*s%s%s", (int)(after - 2 - message), message, name, after);
    return true;
}

static bool read_findings(const struct reading *reading)
{
    static const char *const members[] = {"parsed", "findings", "more", NULL};
    struct json_place list = json_place_named(&reading->root, "findings");
    const json_t *findings = json_object_get(reading->json, "findings");
    uint32_t more;
    if (!json_read_known_members(&reading->root, reading->json, members) ||
        !content_read_number(&reading->root, reading->json, "more", 0, CONTENT_PLACE_LIMIT,
                             &more) ||
        !json_read_array(&list, findings, 0, CONTENT_ANSWER_LIMIT))
        return false;
    for (size_t i = 0; i < json_array_size(findings); i++) {
        struct json_place place = json_place_item(&list, i);
        struct content_finding finding = {0};
        if (!read_finding(reading, &place, json_array_get(findings, i), &finding))
            return false;
        if (!content_add(&reading->call->content, &finding))
            return json_place_out_of_memory(&place);
    }
    reading->call->content.more += more;
    return true;
}

static bool read_unparsed(const struct reading *reading, struct content_answer *answer)
{
    static const char *const members[] = {"parsed", "file", "line", "column", "reason", NULL};
    const char *reason;
    if (!json_read_known_members(&reading->root, reading->json, members) ||
        !read_where(reading, &reading->root, reading->json, &answer->why) ||
        !read_ascii(&reading->root, reading->json, "reason", REASON_LIMIT, &reason))
        return false;
    content_describe(&answer->why, "parse_error", "is no Python: %s", reason);
    answer->verdict = CONTENT_UNREADABLE;
    return true;
}

/* false with error: not an answer. */
static bool read_answer(struct reading *reading, const char *text, size_t length,
                        struct content_answer *answer, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = CONTENT_ANSWER_LIMIT,
                                                    .max_depth = ANSWER_DEPTH_LIMIT};
    json_auto_t *json =
        json_input_parse("answer", text, length, &limits, ERROR_CONTENT_REFUSED, error);
    if (!json)
        return false;
    reading->json = json;
    reading->root = json_place_root("answer", ERROR_CONTENT_REFUSED, error);
    struct json_place parsed_place = json_place_named(&reading->root, "parsed");
    bool parsed;
    return json_read_boolean(&parsed_place, json_object_get(json, "parsed"), &parsed) &&
           (parsed ? read_findings(reading) : read_unparsed(reading, answer));
}

struct content_answer content_check_python(struct call *call, const struct content_rules *rules,
                                           struct error *error)
{
    uint32_t files[REQUEST_FILES_LIMIT + 1];
    const size_t count = call->content.count;
    const uint64_t more = call->content.more;
    struct reading reading = {.call = call, .files = files};
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    if (!describe(call, rules, files, &reading.file_count, &description))
        return content_out_of_memory(error);
    CLEANUP_CLOSE int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct content_program program = {
        .description = &description,
        .mode = content_checking_mode(call->configuration.mode),
        .input = input,
        .language = call->language,
        .image = call->description.image.name,
    };
    size_t length = 0;
    struct error fault;
    struct content_answer answer;
    CLEANUP_FREE char *text = content_run_program(call, &program, &length, &answer, error);
    if (!text || read_answer(&reading, text, length, &answer, &fault))
        return answer;
    call->content.count = count; /* half an answer is none */
    call->content.more = more;
    return fault.code == ERROR_OUT_OF_MEMORY ? content_out_of_memory(error)
                                             : content_failed(NULL, fault.message);
}
