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
#include "run/run.h"

/* Null is the program itself, as absent is. */
static bool read_file(const struct json_place *place, json_t *value, void *object)
{
    struct content_reading *reading = object;
    const struct request *request = &reading->call->request;
    const char *path;
    if (json_is_null(value))
        return true;
    if (!json_read_string(place, value, 1, REQUEST_PATH_LIMIT, &path))
        return false;
    for (size_t i = 0; i < request->file_count; i++)
        if (strcmp(request->files[i].path, path) == 0) {
            reading->finding.file = (uint32_t)i + 1;
            return true;
        }
    return json_place_refuse(place, "is no file of the request");
}

static bool read_finding(const struct json_place *place, json_t *value,
                         struct content_reading *reading)
{
    static const struct json_member members[] = {
        {"file", .optional = true, .read = read_file},
        CONTENT_LINE,
        CONTENT_COLUMN,
        {"rule", &member_borrowed_text, CONTENT_AT(rule), 1, CONTENT_RULE_LIMIT,
         .check = json_check_no_control},
        {"message", &member_borrowed_text, CONTENT_AT(text), 1, CONTENT_MESSAGE_LIMIT,
         .check = json_check_no_control},
        {0},
    };
    if (!json_read_members(place, value, members, reading))
        return false;
    content_describe(&reading->finding, reading->rule, "%s", reading->text);
    return true;
}

static bool read_findings(const struct json_place *place, json_t *value, void *object)
{
    return content_read_findings(place, value, object, read_finding);
}

static bool read_answer(const struct json_place *place, json_t *value,
                        struct content_reading *reading)
{
    static const struct json_member members[] = {{"findings", .read = read_findings}, {0}};
    return json_read_members(place, value, members, reading);
}

static struct content_answer take_answer(struct call *call, const char *who, const char *text,
                                         size_t length, struct error *error)
{
    struct content_reading reading = {
        .call = call, .who = who, .answer = {.verdict = CONTENT_READ}};
    return content_take_answer(&reading, text, length, read_answer, error);
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
    return take_answer(call, who, text, length, error);
}

static const char command_name[] = "the policy's command";

/* The operator's command is trusted as the policy that names it, so it has no sandbox. It is no
 * child of the gateway: process mode's backend runs it like a run without isolation, with the
 * policy's environment, in an empty directory, and kills the processes that it leaves behind. */
struct content_answer content_ask_command(struct call *call, struct error *error)
{
    size_t length = 0;
    CLEANUP_FREE char *question = call_content_question(call, &length);
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    if (!question || !content_plan_command(call, &description))
        return content_out_of_memory(error);
    struct error fault;
    CLEANUP_CLOSE int input = program_input_open(question, length, &fault);
    if (input < 0)
        return content_failed(command_name, fault.message);
    const struct content_program program = {.who = command_name,
                                            .description = &description,
                                            .mode = SANDBOX_MODE_NONE,
                                            .input = input};
    struct content_answer answer;
    CLEANUP_FREE char *text = content_run_program(call, &program, &length, &answer, error);
    return text ? take_answer(call, command_name, text, length, error) : answer;
}
