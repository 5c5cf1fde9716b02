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
#include "content/content_checkers.h"
#include "run/describe.h"

#define NAME_LIMIT   160
#define REASON_LIMIT 160

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

bool content_has_unread_python(const struct request *request)
{
    for (size_t i = 0; i < request->file_count; i++)
        if (request->files[i].ref && is_python(request->files[i].path))
            return true;
    return false;
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
        if (!request->files[i].ref && is_python(request->files[i].path))
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
        const struct request_file *file = &request->files[ret_files[i] - 1];
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
static bool check_ascii(const struct json_place *place, const char *text)
{
    if (!json_check_no_control(place, text))
        return false;
    for (const char *byte = text; *byte; byte++)
        if ((unsigned char)*byte > 0x7F)
            return json_place_refuse(place, "must be ASCII");
    return true;
}

static bool read_file(const struct json_place *place, json_t *value, void *object)
{
    struct content_reading *reading = object;
    int64_t file;
    if (!json_read_integer(place, value, 0, (int64_t)reading->file_count - 1, &file))
        return false;
    reading->finding.file = reading->files[file];
    return true;
}

static bool read_finding(const struct json_place *place, json_t *value,
                         struct content_reading *reading)
{
    static const struct json_member members[] = {
        {"file", .read = read_file},
        CONTENT_LINE,
        CONTENT_COLUMN,
        {"rule", &member_borrowed_text, CONTENT_AT(rule), 1, CONTENT_RULE_LIMIT,
         .check = check_ascii},
        {"name", &member_borrowed_text, CONTENT_AT(text), 1, NAME_LIMIT, .check = check_ascii},
        {0},
    };
    struct json_place rule_place = json_place_named(place, "rule");
    if (!json_read_members(place, value, members, reading))
        return false;
    const char *message = message_of(reading->rule);
    if (!message)
        return json_place_refuse(&rule_place, "is no rule");
    const char *after = strstr(message, "%s") + 2;
    content_describe(&reading->finding, reading->rule, "%.*s%s%s", (int)(after - 2 - message),
                     message, reading->text, after);
    return true;
}

static bool read_findings(const struct json_place *place, json_t *value, void *object)
{
    return content_read_findings(place, value, object, read_finding);
}

static bool read_parsed(const struct json_place *place, json_t *value,
                        struct content_reading *reading)
{
    static const struct json_member members[] = {
        {.name = "parsed"},
        {"more", &member_uint32, CONTENT_AT(more), 0, CONTENT_PLACE_LIMIT},
        {"findings", .read = read_findings},
        {0},
    };
    if (!json_read_members(place, value, members, reading))
        return false;
    reading->call->content.more += reading->more;
    reading->answer.verdict = CONTENT_READ;
    return true;
}

static bool read_unparsed(const struct json_place *place, json_t *value,
                          struct content_reading *reading)
{
    static const struct json_member members[] = {
        {.name = "parsed"},
        {"file", .read = read_file},
        CONTENT_LINE,
        CONTENT_COLUMN,
        {"reason", &member_borrowed_text, CONTENT_AT(text), 1, REASON_LIMIT, .check = check_ascii},
        {0},
    };
    if (!json_read_members(place, value, members, reading))
        return false;
    reading->answer = (struct content_answer){CONTENT_UNREADABLE, reading->finding};
    content_describe(&reading->answer.why, "parse_error", "is no Python: %s", reading->text);
    return true;
}

static bool read_answer(const struct json_place *place, json_t *value,
                        struct content_reading *reading)
{
    struct json_place parsed_place = json_place_named(place, "parsed");
    bool parsed;
    return json_read_boolean(&parsed_place, json_object_get(value, "parsed"), &parsed) &&
           (parsed ? read_parsed : read_unparsed)(place, value, reading);
}

struct content_answer content_check_python(struct call *call, const struct content_rules *rules,
                                           struct error *error)
{
    uint32_t files[REQUEST_FILES_LIMIT + 1];
    struct content_reading reading = {.call = call, .files = files};
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
    struct content_answer answer;
    CLEANUP_FREE char *text = content_run_program(call, &program, &length, &answer, error);
    return text ? content_take_answer(&reading, text, length, read_answer, error) : answer;
}
