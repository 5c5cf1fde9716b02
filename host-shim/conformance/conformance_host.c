/* SPDX-License-Identifier: Apache-2.0 */
/* The witness's callbacks, and the judging of what came back. On the thread of the call. */
#include "conformance/conformance_host.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_member.h"
#include "base/provider_json.h"
#include "conformance/conformance_input.h"

static struct witness *enter(void *user)
{
    struct witness *witness = user;
    if (!atomic_load(&witness->inside) || !pthread_equal(pthread_self(), witness->caller))
        atomic_store(&witness->wrong_moment, true);
    return witness;
}

static void answer(struct witness *witness, enum grant grant, uint32_t *verdict)
{
    witness->asked[grant]++;
    if (!witness->silent[grant])
        *verdict = witness->verdict[grant];
}

static void check_capability(void *user, const char *capability, uint32_t *verdict)
{
    (void)capability;
    answer(enter(user), GRANT_CAPABILITY, verdict);
}

static void look_for_secret(struct witness *witness, const char *text)
{
    if (text && strstr(text, WITNESS_SECRET))
        witness->secret.seen = true;
}

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct witness *witness = enter(user);
    look_for_secret(witness, request_json);
    if (witness->cancels)
        (void)witness->provider->cancel(witness->host.call_id);
    for (size_t i = 0; witness->reply && i < COUNT_OF(witness->reply_codes); i++)
        witness->reply_codes[i] = witness->provider->reply_approval(token, witness->reply);
    answer(witness, GRANT_APPROVAL, verdict);
    atomic_store(&witness->token, token);
}

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    (void)name;
    struct witness_secret *secret = &enter(user)->secret;
    size_t told = secret->told[secret->asked > 0];
    secret->asked++;
    secret->capacity = capacity;
    for (size_t i = 0; i < told && told <= capacity; i++)
        ((char *)buffer)[i] = WITNESS_SECRET[i % WITNESS_SECRET_LENGTH];
    *length = told;
    if (!secret->silent)
        *verdict = secret->verdict;
}

static void audit(void *user, const char *record_json, uint32_t *verdict)
{
    struct witness *witness = enter(user);
    look_for_secret(witness, record_json);
    answer(witness, GRANT_AUDIT, verdict);
}

static void on_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct witness *witness = enter(user);
    size_t room = WITNESS_OUTPUT_LIMIT - 1 - witness->output_length;
    if (stream != TOOL_STREAM_STDOUT && stream != TOOL_STREAM_STDERR)
        return;
    if (length > room)
        length = room;
    memcpy(witness->output + witness->output_length, bytes, length);
    witness->output_length += length;
}

static void log_line(void *user, uint32_t level, const char *message)
{
    (void)level;
    look_for_secret(enter(user), message);
}

struct witness *witness_new(const struct conformance *conformance)
{
    static atomic_uint_fast64_t last_call_id = 100;
    struct witness *witness = calloc(1, sizeof(*witness));
    if (!witness)
        return NULL;
    witness->provider = &conformance->provider;
    witness->host = (struct tool_host){
        .struct_size = sizeof(witness->host),
        .abi_version = TOOL_ABI_VERSION,
        .user = witness,
        .call_id = atomic_fetch_add(&last_call_id, 1),
        .check_capability = check_capability,
        .request_approval = request_approval,
        .read_secret = read_secret,
        .audit = audit,
        .on_output = on_output,
        .log = log_line,
    };
    for (unsigned grant = 0; grant < GRANT_COUNT; grant++)
        witness->verdict[grant] = TOOL_VERDICT_ALLOW;
    witness->secret = (struct witness_secret){
        .told = {WITNESS_SECRET_LENGTH, WITNESS_SECRET_LENGTH}, .verdict = TOOL_VERDICT_ALLOW};
    return witness;
}

void witness_invoke(const struct conformance *conformance, struct witness *witness,
                    const struct tool_host *host, const char *tool, const char *input,
                    struct outcome *ret)
{
    /* Not NULL before the call: a provider that leaves it alone is seen. */
    static char untouched[] = "untouched";
    char *text = untouched;
    if (witness) {
        witness->caller = pthread_self();
        atomic_store(&witness->inside, true);
    }
    *ret = (struct outcome){.code = conformance->provider.invoke(tool, input, host, &text)};
    if (witness)
        atomic_store(&witness->inside, false);
    if (text == untouched || !text)
        return;
    ret->text = provider_take_text(&conformance->provider, text);
    ret->result = provider_json_read(ret->text);
}

void outcome_clear(struct outcome *outcome)
{
    free(outcome->text);
    json_decref(outcome->result);
    *outcome = (struct outcome){0};
}

void witness_invoke_good(const struct conformance *conformance, struct witness *witness,
                         const struct tool_host *host, struct outcome *ret)
{
    CLEANUP_FREE char *input = conformance_input_good(conformance->tool);
    witness_invoke(conformance, witness, host, conformance->tool_name, input, ret);
}

bool witness_can_run(struct conformance *conformance)
{
    CLEANUP_FREE struct witness *witness = witness_new(conformance);
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    if (!witness)
        return false;
    witness_invoke_good(conformance, witness, &witness->host, &outcome);
    if (outcome.code != TOOL_NOT_RUN || !json_is_object(outcome.result))
        return true; /* it ran, or it is so wrong that the case itself must say so */
    const json_t *error = json_object_get(outcome.result, "error");
    (void)case_skip(conformance, "nothing can run here: %s: %s",
                    json_member_string(error, "code", "?"),
                    json_member_string(error, "message", "?"));
    return false;
}

bool witness_grant_matters(struct conformance *conformance, enum grant grant)
{
    CLEANUP_FREE struct witness *witness = witness_new(conformance);
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    if (!witness)
        return true;
    witness_invoke_good(conformance, witness, &witness->host, &outcome);
    if (outcome.code != TOOL_OK || witness->asked[grant] > 0 || grant == GRANT_AUDIT)
        return true;
    const json_t *capabilities = json_object_get(conformance->tool, "capabilities");
    return grant == GRANT_CAPABILITY &&
           json_array_size(json_object_get(capabilities, "required")) > 0;
}

static bool shows_marker(const struct conformance *conformance, const char *text)
{
    return text && conformance_input_has_marker(conformance->tool) &&
           strstr(text, CONFORMANCE_MARKER);
}

enum case_result witness_expect_nothing_ran(struct conformance *conformance,
                                            const struct witness *witness,
                                            const struct outcome *outcome, const char *when)
{
    const json_t *error = json_object_get(outcome->result, "error");
    if (outcome->code != TOOL_NOT_RUN)
        return case_fail(conformance, "%s: tool_invoke() returned %d, not TOOL_NOT_RUN", when,
                         (int)outcome->code);
    if (!outcome->text)
        return case_fail(conformance, "%s: *output_json was not set", when);
    if (!json_is_object(outcome->result))
        return case_fail(conformance, "%s: *output_json is not a JSON object", when);
    if (!*json_member_string(error, "code", "") || !*json_member_string(error, "message", ""))
        return case_fail(conformance, "%s: no \"error\" object with code and message", when);
    if (strcmp(json_member_string(outcome->result, "status", ""), "completed") == 0)
        return case_fail(conformance, "%s: status says completed", when);
    if (witness && witness->output_length > 0)
        return case_fail(conformance, "%s: something ran: on_output was called", when);
    if (shows_marker(conformance, outcome->text))
        return case_fail(conformance, "%s: something ran: its marker is in the result", when);
    return CASE_PASSED;
}

enum case_result witness_expect_ran(struct conformance *conformance, const struct outcome *outcome,
                                    const char *when)
{
    const json_t *error = json_object_get(outcome->result, "error");
    if (outcome->code != TOOL_OK)
        return case_fail(conformance, "%s: did not run (%d): %s: %s", when, (int)outcome->code,
                         json_member_string(error, "code", "?"),
                         json_member_string(error, "message", "?"));
    if (!json_is_object(outcome->result))
        return case_fail(conformance, "%s: *output_json is not a JSON object", when);
    if (conformance_input_has_marker(conformance->tool) &&
        !shows_marker(conformance, json_member_string(outcome->result, "stdout", NULL)))
        return case_fail(conformance, "%s: the program's output is not in the result", when);
    return CASE_PASSED;
}
