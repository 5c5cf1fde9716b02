/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance: wrong input and unknown names. Main thread of a case's process. */
#include <string.h>

#include "base/cleanup.h"
#include "conformance/conformance_case.h"
#include "conformance/conformance_input.h"
#include "conformance/probe_host.h"

#define NESTING 200000u

/* One call with everything granted, so that the input alone is at fault. */
static enum case_result expect_refusal(struct conformance *conformance, const char *tool,
                                       const char *input, const char *when)
{
    struct probe_host *probe = conformance->probe;
    probe_host_reset(probe);
    probe_host_invoke(probe, &probe->host, tool, input);
    return probe_host_expect_nothing_ran(probe, when);
}

static enum case_result case_runs(struct conformance *conformance)
{
    return probe_host_good_runs(conformance->probe, "everything granted");
}

/* A program prints any bytes, and NUL is a character of JSON and of UTF-8 like any other: all come
 * back, as they were, in the result and by on_output. */
static enum case_result case_output_nul(struct conformance *conformance)
{
    static const char expected[] = CONFORMANCE_NUL_OUTPUT;
    const size_t length = sizeof(expected) - 1;
    struct probe_host *probe = conformance->probe;
    if (!conformance_input_has_marker(conformance->tool))
        return case_skip(conformance, "no known input makes this tool print NUL bytes");
    CLEANUP_FREE char *input = conformance_input_printing_nul();
    probe_host_invoke_input(probe, input);
    if (probe->outcome.code != TOOL_OK)
        return case_fail(conformance, "a program that prints NUL bytes did not run");
    if (!json_is_object(probe->outcome.result))
        return case_fail(conformance, "output with NUL bytes: *output_json is not a JSON object");
    const json_t *out = json_object_get(probe->outcome.result, "stdout");
    if (json_string_length(out) != length || memcmp(json_string_value(out), expected, length) != 0)
        return case_fail(conformance,
                         "the result does not have all bytes of output with NUL bytes");
    if (probe->output_length > 0 &&
        (probe->output_length != length || memcmp(probe->output, expected, length) != 0))
        return case_fail(conformance, "on_output did not get all bytes of output with NUL bytes");
    return CASE_PASSED;
}

static enum case_result case_host_null(struct conformance *conformance)
{
    CLEANUP_FREE char *input = conformance_input_good(conformance->tool);
    probe_host_invoke(conformance->probe, NULL, conformance->tool_name, input);
    return probe_host_expect_nothing_ran(conformance->probe, "a NULL host");
}

static enum case_result case_input_null(struct conformance *conformance)
{
    return expect_refusal(conformance, conformance->tool_name, NULL, "a NULL input");
}

static enum case_result case_input_garbage(struct conformance *conformance)
{
    static const char *const garbage[] = {
        "",
        " ",
        "null",
        "true",
        "7",
        "[]",
        "\"text\"",
        "{",
        "}",
        "nonsense",
        "{\"a\":}",
        "\xff\xfe\xfd",
        "{\"code\":\"\xff\"}",
        "{\"code\":\"\\ud800\"}",
        "{} {}",
    };
    enum case_result result = CASE_PASSED;
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(garbage); i++)
        result = expect_refusal(conformance, conformance->tool_name, garbage[i], "a garbage input");
    return result;
}

static enum case_result case_input_truncated(struct conformance *conformance)
{
    CLEANUP_FREE char *input = conformance_input_good(conformance->tool);
    if (!input)
        return case_fail(conformance, "out of memory");
    enum case_result result = CASE_PASSED;
    for (size_t length = strlen(input); result == CASE_PASSED && length-- > 0;) {
        input[length] = '\0';
        result = expect_refusal(conformance, conformance->tool_name, input, "a truncated input");
    }
    return result;
}

static enum case_result case_input_nested(struct conformance *conformance)
{
    static const char *const openings[] = {"[", "{\"a\":"};
    enum case_result result = CASE_PASSED;
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(openings); i++) {
        size_t step = strlen(openings[i]);
        CLEANUP_FREE char *input = malloc(NESTING * step + 1);
        if (!input)
            return case_fail(conformance, "out of memory");
        for (size_t depth = 0; depth < NESTING; depth++)
            memcpy(input + depth * step, openings[i], step);
        input[NESTING * step] = '\0';
        result =
            expect_refusal(conformance, conformance->tool_name, input, "a deeply nested input");
    }
    return result;
}

static enum case_result case_tool_unknown(struct conformance *conformance)
{
    static const char *const names[] = {"no_such_tool", "", "../code_execute", "\xff", NULL};
    CLEANUP_FREE char *input = conformance_input_good(conformance->tool);
    enum case_result result = CASE_PASSED;
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(names); i++)
        result = expect_refusal(conformance, names[i], input,
                                names[i] ? "an unknown tool" : "a NULL tool");
    return result;
}

static enum case_result case_free_null(struct conformance *conformance)
{
    conformance->provider.free(NULL);
    return CASE_PASSED;
}

/* Names of no call, and tokens of no request. */
static const uint64_t unknown[] = {0, 1, UINT64_C(0xFEEDFACE), UINT64_MAX};

static enum case_result case_cancel_unknown(struct conformance *conformance)
{
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        if (conformance->provider.cancel(unknown[i]) != TOOL_UNKNOWN)
            return case_fail(
                conformance,
                "cancelling call %llu, which does not exist, did not return TOOL_UNKNOWN",
                (unsigned long long)unknown[i]);
    }
    return CASE_PASSED;
}

static enum case_result case_reply_unknown(struct conformance *conformance)
{
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        int32_t code =
            conformance->provider.reply_approval(unknown[i], "{\"decision\":\"allow_once\"}");
        if (code != TOOL_UNKNOWN)
            return case_fail(
                conformance,
                "answering token %llu, which does not exist, did not return TOOL_UNKNOWN",
                (unsigned long long)unknown[i]);
    }
    return CASE_PASSED;
}

static enum case_result case_end_session_unknown(struct conformance *conformance)
{
    static const char *const ids[] = {"", "no-such-session", "\xff", NULL};
    if (!conformance->provider.end_session)
        return case_skip(conformance, "the provider has no tool_end_session()");
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        if (conformance->provider.end_session(ids[i]) != TOOL_UNKNOWN)
            return case_fail(conformance,
                             "ending session %s, which does not exist, did not return TOOL_UNKNOWN",
                             ids[i] ? ids[i] : "NULL");
    }
    return CASE_PASSED;
}

const struct conformance_row conformance_call_rows[] = {
    {"runs", case_runs, CASE_NEEDS_A_RUN, 0},
    {"output-nul", case_output_nul, CASE_NEEDS_A_RUN, 0},
    {"host-null", case_host_null, 0, 0},
    {"input-null", case_input_null, 0, 0},
    {"input-garbage", case_input_garbage, 0, 0},
    {"input-truncated", case_input_truncated, 0, 0},
    {"input-nested", case_input_nested, 0, 0},
    {"tool-unknown", case_tool_unknown, 0, 0},
    {"free-null", case_free_null, 0, 0},
    {"cancel-unknown", case_cancel_unknown, 0, 0},
    {"reply-unknown", case_reply_unknown, 0, 0},
    {"end-session-unknown", case_end_session_unknown, 0, 0},
    {0},
};
