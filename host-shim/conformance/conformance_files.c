/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance: a host's file comes only as it was listed, and when the host allows it; a file that
 * is kept is lent, and named only where the host has kept it. Main thread of a case's process.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "conformance/conformance_case.h"
#include "conformance/conformance_input.h"
#include "conformance/probe_host.h"

static const char read_what[] = "no known input gives this tool a file by reference";
static const char kept_what[] = "no known input makes this tool leave a file";

static void invoke_with_file(struct probe_host *probe, const char *ref)
{
    CLEANUP_FREE char *input = conformance_input_with_file(probe->conformance->tool, ref);
    probe->host.context_json = PROBE_FILE_CONTEXT;
    probe_host_invoke_input(probe, input);
}

static void invoke_leaving_file(struct probe_host *probe)
{
    CLEANUP_FREE char *input = conformance_input_leaving_file(probe->conformance->tool);
    probe_host_invoke_input(probe, input);
}

/* Skipped where the tool takes none, or its policy does not here. */
static enum case_result files_are_taken(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    CLEANUP_FREE char *input = conformance_input_with_file(conformance->tool, PROBE_FILE_REF);
    if (!input)
        return case_skip(conformance, "%s", read_what);
    invoke_with_file(probe, PROBE_FILE_REF);
    const json_t *error = json_object_get(probe->outcome.result, "error");
    if (probe->outcome.code == TOOL_NOT_RUN && probe->opened.asked == 0)
        return case_skip(conformance, "no file can be given here: %s: %s",
                         json_member_string(error, "code", "?"),
                         json_member_string(error, "message", "?"));
    probe_host_reset(probe);
    return CASE_PASSED; /* or wrong, which the case itself must say */
}

static enum case_result expect_refusal(struct probe_host *probe, const char *when)
{
    invoke_with_file(probe, PROBE_FILE_REF);
    return probe_host_expect_nothing_ran(probe, when);
}

static enum case_result case_read(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    if (result != CASE_PASSED)
        return result;
    invoke_with_file(probe, PROBE_FILE_REF);
    const char *output = json_member_string(probe->outcome.result, "stdout", "");
    if (probe->outcome.code != TOOL_OK || strcmp(output, PROBE_FILE_CONTENT) != 0)
        return case_fail(conformance, "the program did not read the file's content");
    if (probe_open_left(&probe->opened) > 0)
        return case_fail(conformance, "the file's descriptor was not closed");
    return CASE_PASSED;
}

/* The descriptor is the host's then. */
static enum case_result case_refused(struct conformance *conformance)
{
    static const uint32_t verdicts[] = {TOOL_VERDICT_DENY, 1, TOOL_VERDICT_ALLOW + 1,
                                        TOOL_VERDICT_LATER, TOOL_VERDICT_PENDING};
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(verdicts); i++) {
        probe_host_reset(probe);
        probe->opened.verdict = verdicts[i];
        result = expect_refusal(probe, "open_file did not allow");
        if (result == CASE_PASSED && probe_open_left(&probe->opened) < probe->opened.given_count)
            return case_fail(conformance, "a descriptor was closed that open_file did not allow");
    }
    return result;
}

static enum case_result case_missing(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    probe->host.open_file = NULL;
    return result == CASE_PASSED ? expect_refusal(probe, "without open_file") : result;
}

static enum case_result expect_closed(struct probe_host *probe, const char *when)
{
    enum case_result result = expect_refusal(probe, when);
    if (result == CASE_PASSED && probe_open_left(&probe->opened) > 0)
        return case_fail(probe->conformance, "%s: the descriptor was not closed", when);
    return result;
}

static enum case_result case_size(struct conformance *conformance)
{
    static const uint64_t sizes[] = {0, PROBE_FILE_SIZE - 1, PROBE_FILE_SIZE + 1, UINT64_MAX};
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(sizes); i++) {
        probe_host_reset(probe);
        probe->opened.size = sizes[i];
        result = expect_closed(probe, "another size than the file's");
    }
    return result;
}

static enum case_result case_kind(struct conformance *conformance)
{
    static const char *const when[PROBE_FILE_KINDS] = {
        [PROBE_FILE_PIPE] = "a pipe in a file's place",
        [PROBE_FILE_DIRECTORY] = "a directory in a file's place",
        [PROBE_FILE_WRITE_ONLY] = "a descriptor that cannot be read",
    };
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(when); i++) {
        if (!when[i])
            continue;
        probe_host_reset(probe);
        probe->opened.kind = (enum probe_file_kind)i;
        result = expect_closed(probe, when[i]);
    }
    return result;
}

/* Without the capability there is nothing to open a file for. */
static enum case_result case_order(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    if (result != CASE_PASSED)
        return result;
    probe->verdict[GRANT_CAPABILITY] = TOOL_VERDICT_DENY;
    result = expect_refusal(probe, "denied, with a file");
    if (result == CASE_PASSED && probe->opened.asked > 0)
        return case_fail(conformance, "a file was opened for a caller without the capability");
    return result;
}

static enum case_result case_unknown(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_taken(conformance);
    if (result != CASE_PASSED)
        return result;
    invoke_with_file(probe, "/etc/passwd");
    result = probe_host_expect_nothing_ran(probe, "a file that the host does not list");
    if (probe->opened.asked > 0)
        return case_fail(conformance, "open_file was called for a file that the host did not list");
    return result;
}

/* Skipped where no file is handed to store_file here. */
static enum case_result files_are_kept(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    CLEANUP_FREE char *input = conformance_input_leaving_file(conformance->tool);
    if (!input)
        return case_skip(conformance, "%s", kept_what);
    invoke_leaving_file(probe);
    if (probe->stored.asked == 0)
        return case_skip(conformance, "no file is handed to store_file here");
    probe_host_reset(probe);
    return CASE_PASSED;
}

static bool is_named(const struct probe_host *probe)
{
    return probe->outcome.text && strstr(probe->outcome.text, PROBE_URI);
}

static enum case_result case_kept(struct conformance *conformance)
{
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_kept(conformance);
    if (result != CASE_PASSED)
        return result;
    invoke_leaving_file(probe);
    if (probe->outcome.code != TOOL_OK || !is_named(probe))
        return case_fail(conformance, "the result does not name the file that was kept");
    if (probe->stored.wrong)
        return case_fail(conformance, "store_file got no sealed file of the size that it was told");
    if (probe_descriptor_is_open(&probe->stored.lent))
        return case_fail(conformance, "the descriptor that was lent is still open");
    return CASE_PASSED;
}

/* The program has run, so the call is no failure. */
static enum case_result expect_unnamed(struct probe_host *probe, const char *when)
{
    invoke_leaving_file(probe);
    if (probe->outcome.code != TOOL_OK)
        return case_fail(probe->conformance, "%s: the call failed", when);
    if (is_named(probe))
        return case_fail(probe->conformance, "%s: the result names the file as kept", when);
    return CASE_PASSED;
}

static enum case_result case_not_kept(struct conformance *conformance)
{
    static const uint32_t verdicts[] = {TOOL_VERDICT_DENY, 1, TOOL_VERDICT_ALLOW + 1,
                                        TOOL_VERDICT_LATER, TOOL_VERDICT_PENDING};
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_kept(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(verdicts); i++) {
        probe_host_reset(probe);
        probe->stored.verdict = verdicts[i];
        result = expect_unnamed(probe, "store_file did not allow");
    }
    return result;
}

static enum case_result case_overlong(struct conformance *conformance)
{
    static const size_t lengths[] = {SIZE_MAX, 1 << 20};
    struct probe_host *probe = conformance->probe;
    enum case_result result = files_are_kept(conformance);
    for (size_t i = 0; result == CASE_PASSED && i < COUNT_OF(lengths); i++) {
        probe_host_reset(probe);
        probe->stored.reported = lengths[i];
        result = expect_unnamed(probe, "a name beyond its capacity");
    }
    return result;
}

const struct conformance_row conformance_file_rows[] = {
    {"file-read", case_read, CASE_NEEDS_A_RUN, 0},
    {"file-refused", case_refused, CASE_NEEDS_A_RUN, 0},
    {"file-missing", case_missing, CASE_NEEDS_A_RUN, 0},
    {"file-size", case_size, CASE_NEEDS_A_RUN, 0},
    {"file-kind", case_kind, CASE_NEEDS_A_RUN, 0},
    {"file-order", case_order, CASE_NEEDS_A_RUN | CASE_NEEDS_GRANT(GRANT_CAPABILITY), 0},
    {"file-unknown", case_unknown, CASE_NEEDS_A_RUN, 0},
    {"store-kept", case_kept, CASE_NEEDS_A_RUN, 0},
    {"store-refused", case_not_kept, CASE_NEEDS_A_RUN, 0},
    {"store-overlong", case_overlong, CASE_NEEDS_A_RUN, 0},
    {0},
};
