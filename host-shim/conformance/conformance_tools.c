/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: a program calls only tools that the host lists, each answer reaches the call whose
 * token it has, once, and a call that is not wanted any more is taken back. Main thread of a case's
 * process, and the probe's own.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "conformance/conformance_case.h"
#include "conformance/conformance_input.h"
#include "conformance/probe_host.h"

static void invoke_calling(struct probe_host *probe)
{
    CLEANUP_FREE char *input = conformance_input_calling_tool(probe->conformance->tool);
    probe->host.context_json = PROBE_TOOL_CONTEXT;
    probe_host_invoke_input(probe, input);
    probe_tools_clear(&probe->tools);
}

/* Skipped where no program can call a tool, or its policy lets none do so here. */
static enum case_result tools_are_called(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    CLEANUP_FREE char *input = conformance_input_calling_tool(conformance->tool);
    if (!input || !conformance->provider.reply_call)
        return case_skip(conformance, "no known input makes this tool call the host's tools");
    invoke_calling(probe);
    const json_t *error = json_object_get(probe->outcome.result, "error");
    if (probe->outcome.code == TOOL_NOT_RUN && probe->tools.asked == 0)
        return case_skip(conformance, "no tool can be called here: %s: %s",
                         json_member_string(error, "code", "?"),
                         json_member_string(error, "message", "?"));
    probe_host_reset(probe);
    return CASE_PASSED; /* or wrong, which the case itself must say */
}

static bool has_printed(const struct probe_host *probe, const char *line)
{
    const char *output = json_member_string(probe->outcome.result, "stdout", "");
    size_t length = strlen(line);
    return probe->outcome.code == TOOL_OK && strncmp(output, line, length) == 0 &&
           strcmp(output + length, "\n") == 0;
}

static enum case_result expect_word(struct probe_host *probe, const char *when)
{
    invoke_calling(probe);
    if (!has_printed(probe, PROBE_TOOL_WORD))
        return case_fail(probe->conformance, "%s: the program did not get the answer", when);
    if (probe->tools.asked != 1)
        return case_fail(probe->conformance, "%s: call_tool was called %u times, not once", when,
                         probe->tools.asked);
    if (probe->tools.cancelled > 0 || probe->tools.cancelled_another)
        return case_fail(probe->conformance, "%s: a call with an answer was cancelled", when);
    return CASE_PASSED;
}

static enum case_result expect_error(struct probe_host *probe, const char *when)
{
    invoke_calling(probe);
    if (!has_printed(probe, CONFORMANCE_TOOL_ERROR))
        return case_fail(probe->conformance, "%s: the program did not get an error", when);
    return CASE_PASSED;
}

static enum case_result expect_unknown(struct conformance *conformance, uint64_t token,
                                       const char *when)
{
    const char *reply = PROBE_TOOL_REPLY;
    int32_t code = conformance->provider.reply_call(token, reply, strlen(reply));
    return code == TOOL_UNKNOWN
               ? CASE_PASSED
               : case_fail(conformance, "tool_reply_call() %s returned %d, not TOOL_UNKNOWN", when,
                           (int)code);
}

static enum case_result case_inside(struct conformance *conformance)
{
    static const uint32_t verdicts[] = {TOOL_VERDICT_LATER, TOOL_VERDICT_ALLOW, TOOL_VERDICT_DENY};
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(verdicts); i++) {
        probe_host_reset(probe);
        probe->tools.verdict = verdicts[i];
        result = expect_word(probe, "answered from inside");
        if (result == CASE_PASSED && probe->tools.wrong)
            return case_fail(conformance, "call_json is not as the ABI has it");
        if (result == CASE_PASSED && probe->tools.reply_codes[0] != TOOL_ACCEPTED)
            return case_fail(conformance, "the answer was not accepted");
    }
    return result;
}

static enum case_result case_later(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    probe->tools.answer = PROBE_TOOL_LATER;
    result = expect_word(probe, "answered later from another thread");
    if (result == CASE_PASSED && atomic_load(&probe->wrong_moment))
        return case_fail(conformance, "a callback came on another thread or after the call");
    return result;
}

static enum case_result case_twice(struct conformance *conformance)
{
    static const enum probe_tool_answer answers[] = {PROBE_TOOL_INSIDE, PROBE_TOOL_LATER};
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(answers); i++) {
        probe_host_reset(probe);
        probe->tools.answer = answers[i];
        probe->tools.reply_times = 2;
        result = expect_word(probe, "answered twice");
        if (result == CASE_PASSED && probe->tools.reply_codes[1] != TOOL_UNKNOWN)
            return case_fail(conformance, "the second answer was not unknown");
    }
    return result;
}

static enum case_result case_unknown(struct conformance *conformance)
{
    static const uint64_t tokens[] = {0, 1, UINT64_MAX};
    struct probe_host *probe = conformance->probe;
    enum case_result result = CASE_PASSED;
    if (!conformance->provider.reply_call)
        return case_skip(conformance, "the provider has no tool_reply_call()");
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(tokens); i++)
        result = expect_unknown(conformance, tokens[i], "for a token that nobody has");
    if (result == CASE_PASSED)
        result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    invoke_calling(probe);
    return expect_unknown(conformance, probe->tools.token, "after the run");
}

/* ALLOW too: there is no answer. */
static enum case_result case_refused(struct conformance *conformance)
{
    static const uint32_t verdicts[] = {TOOL_VERDICT_DENY, TOOL_VERDICT_ALLOW, 1,
                                        TOOL_VERDICT_LATER + 1, TOOL_VERDICT_PENDING};
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(verdicts); i++) {
        probe_host_reset(probe);
        probe->tools.answer = PROBE_TOOL_SILENT;
        probe->tools.verdict = verdicts[i];
        result = expect_error(probe, "call_tool neither answered nor said LATER");
        if (result == CASE_PASSED)
            result = expect_unknown(conformance, probe->tools.token, "for a call that was refused");
    }
    return result;
}

static enum case_result case_unreadable(struct conformance *conformance)
{
    static const char *const replies[] = {NULL, "", "nonsense", "[]", "{\"content\":1}"};
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(replies); i++) {
        probe_host_reset(probe);
        probe->tools.reply = replies[i];
        probe->tools.reply_length = replies[i] ? strlen(replies[i]) : 0;
        result = expect_error(probe, "an answer that cannot be read");
        if (result == CASE_PASSED && !replies[i] && probe->tools.reply_codes[0] != TOOL_INVALID)
            return case_fail(conformance, "a NULL answer was not TOOL_INVALID");
    }
    return result;
}

/* Whatever the program wants: this is the mistake of the host's author. */
static enum case_result case_missing(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    probe->host.call_tool = NULL;
    probe->host.context_json = PROBE_TOOL_CONTEXT;
    return probe_host_good_is_denied(probe, "the context has tools, without call_tool");
}

static enum case_result case_older_host(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    probe->host.struct_size = offsetof(struct tool_host, call_tool);
    result = probe_host_good_runs(probe, "a host of 1.2");
    if (result != CASE_PASSED)
        return result;
    probe_host_reset(probe);
    probe->host.struct_size = offsetof(struct tool_host, call_tool);
    invoke_calling(probe);
    result = probe_host_expect_nothing_ran(probe, "a host of 1.2 whose context has tools");
    if (result == CASE_PASSED && probe->tools.asked > 0)
        return case_fail(conformance, "call_tool was called beyond struct_size");
    return result;
}

/* The run is cancelled while the host has the call. */
static enum case_result case_cancelled(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    for (int listens = 1; result == CASE_PASSED && listens >= 0; listens--) {
        probe_host_reset(probe);
        probe->tools.answer = PROBE_TOOL_SILENT;
        probe->cancels_called = true;
        if (!listens)
            probe->host.cancel_tool_call = NULL;
        invoke_calling(probe);
        result = probe_host_expect_status(probe, "cancelled");
        if (result == CASE_PASSED && listens && probe->tools.cancelled != 1)
            return case_fail(conformance, "cancel_tool_call came %u times before the call's end",
                             probe->tools.cancelled);
        if (result == CASE_PASSED)
            result = expect_unknown(conformance, probe->tools.token, "for a cancelled call");
    }
    return result;
}

static enum case_result case_unlisted(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    CLEANUP_FREE char *input = conformance_input_calling_tool(conformance->tool);
    probe_host_invoke_input(probe, input);
    result = probe_host_expect_nothing_ran(probe, "a tool that the host does not list");
    if (probe->tools.asked > 0)
        return case_fail(conformance, "call_tool was called for a tool that the host did not list");
    return result;
}

/* Without the capability there is nothing to call a tool for. */
static enum case_result case_order(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    probe->verdict[GRANT_CAPABILITY] = TOOL_VERDICT_DENY;
    invoke_calling(probe);
    result = probe_host_expect_nothing_ran(probe, "denied, with a tool");
    if (probe->tools.asked > 0)
        return case_fail(conformance, "a tool was called for a caller without the capability");
    return result;
}

/* The inner call runs, or is refused at once. */
static enum case_result case_reentered(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = tools_are_called(conformance);
    if (result != CASE_PASSED)
        return result;
    CLEANUP(probe_host_free) struct probe_host *inner = probe_host_new(conformance);
    if (!inner)
        return case_fail(conformance, "out of memory");
    probe->inner = inner;
    result = expect_word(probe, "call_tool called tool_invoke()");
    if (result != CASE_PASSED)
        return result;
    return inner->outcome.code == TOOL_NOT_RUN
               ? probe_host_expect_nothing_ran(inner, "inside call_tool")
               : probe_host_expect_ran(inner, "inside call_tool");
}

const struct conformance_row conformance_tool_rows[] = {
    {"tool-inside", case_inside, CASE_NEEDS_A_RUN, 0},
    {"tool-later", case_later, CASE_NEEDS_A_RUN, 0},
    {"tool-reply-twice", case_twice, CASE_NEEDS_A_RUN, 0},
    {"tool-reply-unknown", case_unknown, CASE_NEEDS_A_RUN, 0},
    {"tool-reply-unreadable", case_unreadable, CASE_NEEDS_A_RUN, 0},
    {"tool-refused", case_refused, CASE_NEEDS_A_RUN, 0},
    {"tool-missing", case_missing, CASE_NEEDS_A_RUN, 0},
    {"tool-older-host", case_older_host, CASE_NEEDS_A_RUN, 0},
    {"tool-cancelled", case_cancelled, CASE_NEEDS_A_RUN, 0},
    {"tool-unlisted", case_unlisted, CASE_NEEDS_A_RUN, 0},
    {"tool-order", case_order, CASE_NEEDS_A_RUN | CASE_NEEDS_GRANT(GRANT_CAPABILITY), 0},
    {"tool-reentered", case_reentered, CASE_NEEDS_A_RUN, 0},
    {0},
};
