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

static void invoke_with_secret(struct conformance *conformance, struct probe_host *probe,
                               struct outcome *ret)
{
    CLEANUP_FREE char *input = conformance_input_with_secret(conformance->tool);
    probe_host_invoke(conformance, probe, &probe->host, conformance->tool_name, input, ret);
}

/* Skipped where the tool takes none, or its policy gives none here. */
static enum case_result secrets_are_given(struct conformance *conformance)
{
    CLEANUP_FREE char *input = conformance_input_with_secret(conformance->tool);
    CLEANUP_FREE struct probe_host *probe = probe_host_new(conformance);
    if (!input || !probe)
        return case_skip(conformance, "no known input gives this tool a secret");
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    invoke_with_secret(conformance, probe, &outcome);
    if (outcome.code != TOOL_NOT_RUN || probe->secret.asked > 0)
        return CASE_PASSED; /* or wrong, which the case itself must say */
    const json_t *error = json_object_get(outcome.result, "error");
    return case_skip(conformance, "secrets cannot be provided here: %s: %s",
                     json_member_string(error, "code", "?"),
                     json_member_string(error, "message", "?"));
}

static enum case_result expect_refusal(struct conformance *conformance, struct probe_host *probe,
                                       const char *when)
{
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    invoke_with_secret(conformance, probe, &outcome);
    return probe_host_expect_nothing_ran(conformance, probe, &outcome, when);
}

enum refusal { REFUSAL_MISSING, REFUSAL_SILENT, REFUSAL_DENIED, REFUSAL_JUNK };

static enum case_result case_refused(struct conformance *conformance, unsigned refusal)
{
    enum case_result result = secrets_are_given(conformance);
    if (result != CASE_PASSED)
        return result;
    struct probe_host *probe = conformance->probe;
    if (refusal == REFUSAL_MISSING)
        probe->host.read_secret = NULL;
    probe->secret.silent = refusal == REFUSAL_SILENT;
    if (refusal == REFUSAL_DENIED)
        probe->secret.verdict = TOOL_VERDICT_DENY;
    else if (refusal == REFUSAL_JUNK)
        probe->secret.verdict = TOOL_VERDICT_ALLOW + 1;
    return expect_refusal(conformance, probe, "read_secret did not allow");
}

static enum case_result case_grows(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    enum case_result result = secrets_are_given(conformance);
    if (result != CASE_PASSED)
        return result;
    struct probe_host *probe = conformance->probe;
    probe->secret.reported[0] = probe->secret.reported[1] = LARGEST_SECRET - 1;
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    invoke_with_secret(conformance, probe, &outcome);
    result = probe_host_expect_ran(conformance, &outcome, "a secret of 65535 bytes");
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

static enum case_result case_too_large(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    enum case_result result = secrets_are_given(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(wrong_lengths); i++) {
        CLEANUP_FREE struct probe_host *probe = probe_host_new(conformance);
        if (!probe)
            return case_fail(conformance, "out of memory");
        memcpy(probe->secret.reported, wrong_lengths[i], sizeof(wrong_lengths[i]));
        char when[80];
        (void)snprintf(when, sizeof(when), "a secret of %zu, then %zu bytes", wrong_lengths[i][0],
                       wrong_lengths[i][1]);
        result = expect_refusal(conformance, probe, when);
    }
    return result;
}

/* Without an approval the secret must not be handed out. */
static enum case_result case_order(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    enum case_result result = secrets_are_given(conformance);
    static const enum grant before[] = {GRANT_CAPABILITY, GRANT_APPROVAL};
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(before); i++) {
        if (!probe_host_grant_matters(conformance, before[i]))
            continue;
        CLEANUP_FREE struct probe_host *probe = probe_host_new(conformance);
        if (!probe)
            return case_fail(conformance, "out of memory");
        probe->verdict[before[i]] = TOOL_VERDICT_DENY;
        result = expect_refusal(conformance, probe, "denied, with a secret");
        if (result == CASE_PASSED && probe->secret.asked > 0)
            return case_fail(conformance, "the secret was read for a call that was denied");
    }
    return result;
}

static enum case_result case_kept(struct conformance *conformance, unsigned argument)
{
    (void)argument;
    enum case_result result = secrets_are_given(conformance);
    if (result != CASE_PASSED)
        return result;
    struct probe_host *probe = conformance->probe;
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    invoke_with_secret(conformance, probe, &outcome);
    result = probe_host_expect_ran(conformance, &outcome, "with a secret");
    if (result == CASE_PASSED && probe->secret.seen)
        return case_fail(conformance,
                         "the secret is in an audit record, a request or a line of the log");
    if (result == CASE_PASSED && outcome.text && strstr(outcome.text, PROBE_SECRET))
        return case_fail(conformance, "the secret is in the result, and no program printed it");
    return result;
}

const struct conformance_row conformance_secret_rows[] = {
    {"secret-missing", case_refused, REFUSAL_MISSING, CASE_NEEDS_A_RUN},
    {"secret-silent", case_refused, REFUSAL_SILENT, CASE_NEEDS_A_RUN},
    {"secret-denied", case_refused, REFUSAL_DENIED, CASE_NEEDS_A_RUN},
    {"secret-junk", case_refused, REFUSAL_JUNK, CASE_NEEDS_A_RUN},
    {"secret-grows", case_grows, 0, CASE_NEEDS_A_RUN},
    {"secret-too-large", case_too_large, 0, CASE_NEEDS_A_RUN},
    {"secret-order", case_order, 0, CASE_NEEDS_A_RUN},
    {"secret-kept", case_kept, 0, CASE_NEEDS_A_RUN},
};
const size_t conformance_secret_row_count = COUNT_OF(conformance_secret_rows);
