/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a program. Other hosts let a call through when their hook fails; here every failure denies.
 * On the thread inside tool_invoke().
 */
#include "approval/approval.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bounded_program.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/write_fully.h"

#define OUTPUT_LIMIT (6u << 20) /* an edit holds a whole request */

/* A file in memory rather than a pipe: a program that does not read it cannot block us. */
static int request_file(const char *request_json)
{
    CLEANUP_CLOSE int fd = memfd_create("approval-request", MFD_CLOEXEC);
    if (fd < 0 || !write_fully(fd, request_json, strlen(request_json)) || lseek(fd, 0, SEEK_SET))
        return -1;
    return TAKE_FD(fd);
}

static const char *text_or(const char *text, const char *otherwise)
{
    return *text ? text : otherwise;
}

/* The words of the ABI, and the pair that other hosts' hooks have. */
static bool find_word(const char *name, enum approval_word *ret)
{
    if (strcmp(name, "approve") == 0)
        name = approval_word_name(APPROVAL_WORD_ALLOW_ONCE);
    if (strcmp(name, "block") == 0)
        name = approval_word_name(APPROVAL_WORD_DENY);
    return approval_word_find(name, ret);
}

static void take_decision(enum approval_word word, const char *reason, json_t *arguments,
                          struct approval_decision *ret)
{
    if (word == APPROVAL_WORD_DENY)
        approval_deny(ret, "%s", text_or(reason, "the approval program said no"));
    else if ((word == APPROVAL_WORD_EDIT) != json_is_object(arguments))
        approval_deny(ret, "the approval program's answer has %s",
                      arguments ? "arguments without an edit" : "an edit without arguments");
    else
        approval_allow(ret, word, reason);
    if (ret->word == APPROVAL_WORD_EDIT)
        ret->arguments = json_incref(arguments);
}

static void read_plain(const json_t *answer, struct approval_decision *ret)
{
    enum approval_word word = APPROVAL_WORD_DENY;
    const char *reason = json_member_string(answer, "reason", "");
    if (find_word(json_member_string(answer, "decision", ""), &word))
        take_decision(word, reason, json_object_get(answer, "arguments"), ret);
    else
        approval_deny(ret, "%s",
                      text_or(reason, "the approval program's answer is not a known decision"));
}

/* In an agent's hooks "ask" passes the question on; no further approver stands behind this program.
 */
static void read_hook(const json_t *hook, struct approval_decision *ret)
{
    const char *word = json_member_string(hook, "permissionDecision", "");
    const char *reason = json_member_string(hook, "permissionDecisionReason", "");
    json_t *changed = json_object_get(hook, "updatedInput");
    if (strcmp(word, "allow") == 0)
        take_decision(changed ? APPROVAL_WORD_EDIT : APPROVAL_WORD_ALLOW_ONCE, reason, changed,
                      ret);
    else if (strcmp(word, "ask") == 0)
        approval_unavailable(
            ret, "%s", text_or(reason, "the approval program leaves the decision to a person"));
    else
        approval_deny(ret, "%s", text_or(reason, "the approval program said no"));
}

void approval_read_decision(const char *text, size_t length, const json_t *request,
                            struct approval_decision *ret)
{
    json_auto_t *answer = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *hook = json_object_get(answer, "hookSpecificOutput");
    const json_t *plain = json_object_get(answer, "decision");
    const json_t *hash = json_object_get(answer, "request_sha256");
    if (!json_is_object(answer) || (hook && plain) || (!hook && !plain))
        approval_deny(ret, "the approval program's answer is not a decision");
    else if (json_is_false(json_object_get(answer, "continue")))
        approval_deny(ret, "the approval program stops the agent");
    else if (hash && !json_equal(hash, json_object_get(request, "request_sha256")))
        approval_deny(ret, "the approval program's answer is for another request");
    else if (hook)
        read_hook(hook, ret);
    else
        read_plain(answer, ret);
}

static void read_result(const char *program, const struct program_result *result, int wait_ms,
                        const json_t *request, struct approval_decision *ret)
{
    switch (result->end) {
    case PROGRAM_EXITED:
        if (result->number == 0)
            approval_read_decision(result->output, result->length, request, ret);
        else
            approval_deny(ret, "%s ended with status %d", program, result->number);
        break;
    case PROGRAM_SIGNALLED:
        approval_deny(ret, "%s was ended by signal %d", program, result->number);
        break;
    case PROGRAM_NOT_STARTED:
        approval_unavailable(ret, "%s could not be started: %s", program, strerror(result->number));
        break;
    case PROGRAM_NOT_WATCHED:
        approval_unavailable(ret, "%s could not be watched: %s", program, strerror(result->number));
        break;
    case PROGRAM_OUT_OF_TIME:
        approval_unavailable(ret, "%s did not decide within %d ms", program, wait_ms);
        break;
    case PROGRAM_OUT_OF_BOUNDS:
        approval_deny(ret, "%s printed more than %u bytes", program, OUTPUT_LIMIT);
        break;
    case PROGRAM_CANCELLED:
        approval_unavailable(ret, "the call was cancelled");
        break;
    }
}

void approval_by_command(const struct approval_question *question, struct approval_decision *ret)
{
    const char *program = question->approver->target;
    (void)snprintf(ret->approver, sizeof(ret->approver), "command:%s", program);
    CLEANUP_CLOSE int input = request_file(question->request_json);
    if (input < 0) {
        approval_unavailable(ret, "%s could not be asked: %s", program, strerror(errno));
        return;
    }
    char *arguments[] = {(char *)(uintptr_t)program, NULL};
    const struct bounded_program bounded = {
        .path = program,
        .arguments = arguments,
        .input = input,
        .error = -1,
        .output_limit = OUTPUT_LIMIT,
        .wait_ms = approval_wait_ms(question->request),
        .cancelled_fd = question->cancelled_fd,
    };
    CLEANUP(program_result_clear) struct program_result result;
    bounded_program_run(&bounded, &result);
    read_result(program, &result, bounded.wait_ms, question->request, ret);
}
