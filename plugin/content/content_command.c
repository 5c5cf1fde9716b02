/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check by a command of the operator's. It is trusted as the policy that names it, so it has no
 * sandbox. It is no child of the gateway: process mode's backend runs it like a run without
 * isolation, with the policy's environment, in an empty directory, and kills the processes that it
 * leaves behind. Runs in the gateway, on the thread inside tool_invoke().
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "content/content_checkers.h"
#include "program/program_input.h"

static const char who[] = "the policy's command";

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
        return content_failed(who, fault.message);
    const struct content_program program = {
        .who = who, .description = &description, .mode = SANDBOX_MODE_NONE, .input = input};
    struct content_answer answer;
    CLEANUP_FREE char *text = content_run_program(call, &program, &length, &answer, error);
    return text ? content_outside_answer(call, who, text, length, error) : answer;
}
