/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: a secret comes only when everything else is granted, whole or not at all, and goes
 * nowhere but to the program. Main thread of a case's process.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "conformance/conformance_case.h"
#include "conformance/conformance_input.h"
#include "conformance/probe_host.h"

#define LARGEST_SECRET 65536u /* read_secret's own limit */

/* An input with a secret's handle, given to the provider. */
static void invoke_with_secret(struct probe_host *probe)
{
    CLEANUP_FREE char *input = conformance_input_with_secret(probe->conformance->tool);
    probe_host_invoke_input(probe, input);
}

/* Skipped where the tool takes none, or its policy gives none here. */
static enum case_result secrets_are_given(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    CLEANUP_FREE char *input = conformance_input_with_secret(conformance->tool);
    if (!input)
        return case_skip(conformance, "no known input gives this tool a secret");
    probe_host_invoke_input(probe, input);
    const json_t *error = json_object_get(probe->outcome.result, "error");
    if (probe->outcome.code == TOOL_NOT_RUN && probe->secret.asked == 0)
        return case_skip(conformance, "secrets cannot be provided here: %s: %s",
                         json_member_string(error, "code", "?"),
                         json_member_string(error, "message", "?"));
    probe_host_reset(probe);
    return CASE_PASSED; /* or wrong, which the case itself must say */
}

static enum case_result expect_refusal(struct probe_host *probe, const char *when)
{
    invoke_with_secret(probe);
    return probe_host_expect_nothing_ran(probe, when);
}

enum refusal { REFUSAL_MISSING, REFUSAL_SILENT, REFUSAL_DENIED, REFUSAL_JUNK };

static enum case_result case_refused(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = secrets_are_given(conformance);
    if (result != CASE_PASSED)
        return result;
    if (conformance->argument == REFUSAL_MISSING)
        probe->host.read_secret = NULL;
    probe->secret.silent = conformance->argument == REFUSAL_SILENT;
    if (conformance->argument == REFUSAL_DENIED)
        probe->secret.verdict = TOOL_VERDICT_DENY;
    else if (conformance->argument == REFUSAL_JUNK)
        probe->secret.verdict = TOOL_VERDICT_ALLOW + 1;
    return expect_refusal(probe, "read_secret did not allow");
}

static enum case_result case_grows(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = secrets_are_given(conformance);
    if (result != CASE_PASSED)
        return result;
    probe->secret.reported[0] = probe->secret.reported[1] = LARGEST_SECRET - 1;
    invoke_with_secret(probe);
    result = probe_host_expect_ran(probe, "a secret of 65535 bytes");
    if (result == CASE_PASSED && probe->secret.capacity < LARGEST_SECRET - 1)
        return case_fail(conformance, "ran, but the buffer was never large enough");
    return result;
}

/* The length that read_secret gives, first and when called again. */
static const size_t wrong_lengths[][2] = {
    {LARGEST_SECRET + 1, LARGEST_SECRET + 1},
    {SIZE_MAX, SIZE_MAX},
    {LARGEST_SECRET - 1, LARGEST_SECRET + 1},
    {LARGEST_SECRET - 1, SIZE_MAX},
};

static enum case_result case_too_large(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = secrets_are_given(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(wrong_lengths); i++) {
        char when[80];
        probe_host_reset(probe);
        memcpy(probe->secret.reported, wrong_lengths[i], sizeof(wrong_lengths[i]));
        (void)snprintf(when, sizeof(when), "a secret of %zu, then %zu bytes", wrong_lengths[i][0],
                       wrong_lengths[i][1]);
        result = expect_refusal(probe, when);
    }
    return result;
}

/* Without an approval the secret must not be handed out. */
static enum case_result case_order(struct conformance *conformance)
{
    static const enum grant before[] = {GRANT_CAPABILITY, GRANT_APPROVAL};
    struct probe_host *probe = conformance->probe;
    enum case_result result = secrets_are_given(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(before); i++) {
        bool matters = probe_host_grant_matters(probe, before[i]);
        probe_host_reset(probe);
        if (!matters)
            continue;
        probe->verdict[before[i]] = TOOL_VERDICT_DENY;
        result = expect_refusal(probe, "denied, with a secret");
        if (result == CASE_PASSED && probe->secret.asked > 0)
            return case_fail(conformance, "the secret was read for a call that was denied");
    }
    return result;
}

static enum case_result case_kept(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = secrets_are_given(conformance);
    if (result != CASE_PASSED)
        return result;
    invoke_with_secret(probe);
    result = probe_host_expect_ran(probe, "with a secret");
    if (result == CASE_PASSED && probe->secret.seen)
        return case_fail(conformance,
                         "the secret is in an audit record, a request or a line of the log");
    if (result == CASE_PASSED && probe->outcome.text && strstr(probe->outcome.text, PROBE_SECRET))
        return case_fail(conformance, "the secret is in the result, and no program printed it");
    return result;
}

const struct conformance_row conformance_secret_rows[] = {
    {"secret-missing", case_refused, CASE_NEEDS_A_RUN, REFUSAL_MISSING},
    {"secret-silent", case_refused, CASE_NEEDS_A_RUN, REFUSAL_SILENT},
    {"secret-denied", case_refused, CASE_NEEDS_A_RUN, REFUSAL_DENIED},
    {"secret-junk", case_refused, CASE_NEEDS_A_RUN, REFUSAL_JUNK},
    {"secret-grows", case_grows, CASE_NEEDS_A_RUN, 0},
    {"secret-too-large", case_too_large, CASE_NEEDS_A_RUN, 0},
    {"secret-order", case_order, CASE_NEEDS_A_RUN, 0},
    {"secret-kept", case_kept, CASE_NEEDS_A_RUN, 0},
    {0},
};
