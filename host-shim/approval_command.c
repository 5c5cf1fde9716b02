/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks a program. Other hosts let a call through when their hook fails; here every failure denies.
 * On the thread inside tool_invoke().
 */
#include "approval_command.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bounded_program.h"
#include "cleanup.h"
#include "descriptor_io.h"
#include "json_member.h"

#define OUTPUT_LIMIT 65536u

/* A file in memory rather than a pipe: a program that does not read it cannot block us. */
static int request_file(const char *request_json)
{
    CLEANUP_CLOSE int fd = memfd_create("approval-request", MFD_CLOEXEC);
    if (fd < 0 || !write_fully(fd, request_json, strlen(request_json)) || lseek(fd, 0, SEEK_SET))
        return -1;
    return TAKE_FD(fd);
}

static void read_word(const json_t *answer, const char *word_member, const char *reason_member,
                      const char *yes, struct approval_decision *ret)
{
    const char *word = json_member_string(answer, word_member, "");
    const char *reason = json_member_string(answer, reason_member, "");
    ret->allow = strcmp(word, yes) == 0;
    if (ret->allow)
        (void)snprintf(ret->reason, sizeof(ret->reason), "%s", reason);
    else
        approval_deny(ret, "%s", *reason ? reason : "the approval program said no");
}

void approval_read_decision(const char *text, size_t length, struct approval_decision *ret)
{
    CLEANUP_JSON json_t *answer = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *hook = json_object_get(answer, "hookSpecificOutput");
    const json_t *plain = json_object_get(answer, "decision");
    if (!json_is_object(answer) || (hook && plain) || (!hook && !plain))
        approval_deny(ret, "the approval program's answer is no decision");
    else if (hook)
        read_word(hook, "permissionDecision", "permissionDecisionReason", "allow", ret);
    else
        read_word(answer, "decision", "reason", "allow_once", ret);
}

static void read_result(const char *program, const struct program_result *result, int wait_ms,
                        struct approval_decision *ret)
{
    switch (result->end) {
    case PROGRAM_EXITED:
        if (result->number == 0)
            approval_read_decision(result->output, result->length, ret);
        else
            approval_deny(ret, "%s ended with status %d", program, result->number);
        break;
    case PROGRAM_SIGNALLED:
        approval_deny(ret, "%s was ended by signal %d", program, result->number);
        break;
    case PROGRAM_NOT_STARTED:
        ret->no_approver = true;
        approval_deny(ret, "%s could not be started: %s", program, strerror(result->number));
        break;
    case PROGRAM_NOT_WATCHED:
        approval_deny(ret, "%s could not be watched: %s", program, strerror(result->number));
        break;
    case PROGRAM_OUT_OF_TIME:
        approval_deny(ret, "%s did not decide within %d ms", program, wait_ms);
        break;
    case PROGRAM_OUT_OF_BOUNDS:
        approval_deny(ret, "%s printed more than %u bytes", program, OUTPUT_LIMIT);
        break;
    case PROGRAM_CANCELLED:
        approval_deny(ret, "the call was cancelled");
        break;
    }
}

void approval_by_command(const char *program, const json_t *request, const char *request_json,
                         int cancelled_fd, struct approval_decision *ret)
{
    (void)snprintf(ret->approver, sizeof(ret->approver), "command:%s", program);
    CLEANUP_CLOSE int input = request_file(request_json);
    if (input < 0) {
        approval_deny(ret, "%s could not be asked: %s", program, strerror(errno));
        return;
    }
    char *arguments[] = {(char *)(uintptr_t)program, NULL};
    const struct bounded_program bounded = {
        .path = program,
        .arguments = arguments,
        .input = input,
        .error = -1,
        .output_limit = OUTPUT_LIMIT,
        .wait_ms = approval_wait_ms(request),
        .cancelled_fd = cancelled_fd,
    };
    CLEANUP(program_result_clear) struct program_result result;
    bounded_program_run(&bounded, &result);
    read_result(program, &result, bounded.wait_ms, ret);
}
