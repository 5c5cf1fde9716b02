/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's callbacks, and verdicts on what a call returned. On the thread of the call. */
#include "conformance/probe_host.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "conformance/conformance_input.h"

static struct probe_host *enter(void *user)
{
    struct probe_host *probe = user;
    if (!atomic_load(&probe->inside) || !pthread_equal(pthread_self(), probe->caller))
        atomic_store(&probe->wrong_moment, true);
    return probe;
}

static const struct provider *provider_of(const struct probe_host *probe)
{
    return &probe->conformance->provider;
}

static void give_verdict(struct probe_host *probe, enum grant grant, uint32_t *verdict)
{
    probe->asked[grant]++;
    if (!probe->silent[grant])
        *verdict = probe->verdict[grant];
}

static void check_capability(void *user, const char *capability, uint32_t *verdict)
{
    (void)capability;
    give_verdict(enter(user), GRANT_CAPABILITY, verdict);
}

static void look_for_secret(struct probe_host *probe, const char *text)
{
    if (text && strstr(text, PROBE_SECRET))
        probe->secret.seen = true;
}

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct probe_host *probe = enter(user);
    look_for_secret(probe, request_json);
    if (probe->cancels)
        (void)provider_of(probe)->cancel(probe->host.call_id);
    for (size_t i = 0; probe->reply && i < COUNT_OF(probe->reply_codes); i++)
        probe->reply_codes[i] = provider_of(probe)->reply_approval(token, probe->reply);
    give_verdict(probe, GRANT_APPROVAL, verdict);
    atomic_store(&probe->token, token);
}

static void read_secret(void *user, const char *name, void *buffer, size_t capacity, size_t *length,
                        uint32_t *verdict)
{
    (void)name;
    struct probe_host_secret *secret = &enter(user)->secret;
    size_t reported = secret->reported[secret->asked > 0];
    secret->asked++;
    secret->capacity = capacity;
    for (size_t i = 0; i < reported && reported <= capacity; i++)
        ((char *)buffer)[i] = PROBE_SECRET[i % PROBE_SECRET_LENGTH];
    *length = reported;
    if (!secret->silent)
        *verdict = secret->verdict;
}

static void audit(void *user, const char *record_json, uint32_t *verdict)
{
    struct probe_host *probe = enter(user);
    look_for_secret(probe, record_json);
    give_verdict(probe, GRANT_AUDIT, verdict);
}

static void on_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct probe_host *probe = enter(user);
    size_t room = PROBE_OUTPUT_LIMIT - 1 - probe->output_length;
    if (stream != TOOL_STREAM_STDOUT && stream != TOOL_STREAM_STDERR)
        return;
    if (length > room)
        length = room;
    memcpy(probe->output + probe->output_length, bytes, length);
    probe->output_length += length;
}

static void log_line(void *user, uint32_t level, const char *message)
{
    (void)level;
    look_for_secret(enter(user), message);
}

static void open_file(void *user, const char *ref, int32_t *descriptor, uint64_t *size,
                      uint32_t *verdict)
{
    (void)ref;
    probe_open_answer(&enter(user)->opened, descriptor, size, verdict);
}

static void store_file(void *user, const char *file_json, int32_t descriptor, char *uri,
                       size_t capacity, size_t *length, uint32_t *verdict)
{
    probe_store_answer(&enter(user)->stored, file_json, descriptor, uri, capacity, length, verdict);
}

static void call_tool(void *user, uint64_t token, const char *call_json, uint32_t *verdict)
{
    struct probe_host *probe = enter(user);
    if (probe->cancels_called)
        (void)provider_of(probe)->cancel(probe->host.call_id);
    if (probe->inner)
        probe_host_invoke_good(probe->inner);
    probe->tools.reply_call = provider_of(probe)->reply_call;
    probe_tools_call(&probe->tools, token, call_json, verdict);
}

static void cancel_tool_call(void *user, uint64_t token)
{
    probe_tools_cancel(&enter(user)->tools, token);
}

static void outcome_clear(struct outcome *outcome)
{
    free(outcome->text);
    json_decref(outcome->result);
    *outcome = (struct outcome){0};
}

void probe_host_reset(struct probe_host *probe)
{
    static atomic_uint_fast64_t last_call_id = 100;
    struct conformance *conformance = probe->conformance;
    outcome_clear(&probe->outcome);
    probe_open_clear(&probe->opened);
    probe_tools_clear(&probe->tools);
    *probe = (struct probe_host){
        .host = {.struct_size = sizeof(probe->host),
                 .abi_version = TOOL_ABI_VERSION,
                 .user = probe,
                 .call_id = atomic_fetch_add(&last_call_id, 1),
                 .check_capability = check_capability,
                 .request_approval = request_approval,
                 .read_secret = read_secret,
                 .audit = audit,
                 .on_output = on_output,
                 .log = log_line,
                 .open_file = open_file,
                 .store_file = store_file,
                 .call_tool = call_tool,
                 .cancel_tool_call = cancel_tool_call},
        .conformance = conformance,
        .verdict = {[GRANT_CAPABILITY] = TOOL_VERDICT_ALLOW,
                    [GRANT_APPROVAL] = TOOL_VERDICT_ALLOW,
                    [GRANT_AUDIT] = TOOL_VERDICT_ALLOW},
        .secret = {.reported = {PROBE_SECRET_LENGTH, PROBE_SECRET_LENGTH},
                   .verdict = TOOL_VERDICT_ALLOW},
        .opened = {.size = PROBE_FILE_SIZE, .verdict = TOOL_VERDICT_ALLOW},
        .stored = {.verdict = TOOL_VERDICT_ALLOW},
        .tools = {.reply = PROBE_TOOL_REPLY,
                  .reply_length = strlen(PROBE_TOOL_REPLY),
                  .reply_times = 1,
                  .verdict = TOOL_VERDICT_LATER},
    };
}

struct probe_host *probe_host_new(struct conformance *conformance)
{
    struct probe_host *probe = calloc(1, sizeof(*probe));
    if (!probe)
        return NULL;
    probe->conformance = conformance;
    probe_host_reset(probe);
    return probe;
}

void probe_host_free(struct probe_host **probe)
{
    if (*probe) {
        outcome_clear(&(*probe)->outcome);
        probe_open_clear(&(*probe)->opened);
        probe_tools_clear(&(*probe)->tools);
    }
    free(TAKE_POINTER(*probe));
}

void probe_host_invoke(struct probe_host *probe, const struct tool_host *host, const char *tool,
                       const char *input)
{
    /* Not NULL before the call, to see whether the provider sets it. */
    static char untouched[] = "untouched";
    char *text = untouched;
    outcome_clear(&probe->outcome);
    probe->caller = pthread_self();
    atomic_store(&probe->inside, true);
    probe->outcome.code = provider_of(probe)->invoke(tool, input, host, &text);
    atomic_store(&probe->inside, false);
    if (text == untouched || !text)
        return;
    probe->outcome.text = provider_take_text(provider_of(probe), text);
    probe->outcome.result = provider_json_read(probe->outcome.text);
}

void probe_host_invoke_input(struct probe_host *probe, const char *input)
{
    probe_host_invoke(probe, &probe->host, probe->conformance->tool_name, input);
}

void probe_host_invoke_good(struct probe_host *probe)
{
    CLEANUP_FREE char *input = conformance_input_good(probe->conformance->tool);
    probe_host_invoke_input(probe, input);
}

bool probe_host_can_run(struct probe_host *probe)
{
    probe_host_invoke_good(probe);
    if (probe->outcome.code != TOOL_NOT_RUN || !json_is_object(probe->outcome.result))
        return true; /* it ran, or it is so wrong that the case itself must say so */
    const json_t *error = json_object_get(probe->outcome.result, "error");
    (void)case_skip(probe->conformance, "nothing can run here: %s: %s",
                    json_member_string(error, "code", "?"),
                    json_member_string(error, "message", "?"));
    return false;
}

bool probe_host_grant_matters(struct probe_host *probe, enum grant grant)
{
    probe_host_invoke_good(probe);
    if (probe->outcome.code != TOOL_OK || probe->asked[grant] > 0 || grant == GRANT_AUDIT)
        return true;
    const json_t *capabilities = json_object_get(probe->conformance->tool, "capabilities");
    return grant == GRANT_CAPABILITY &&
           json_array_size(json_object_get(capabilities, "required")) > 0;
}

static bool shows_marker(const struct probe_host *probe, const char *text)
{
    return text && conformance_input_has_marker(probe->conformance->tool) &&
           strstr(text, CONFORMANCE_MARKER);
}

enum case_result probe_host_expect_nothing_ran(struct probe_host *probe, const char *when)
{
    struct conformance *conformance = probe->conformance;
    const struct outcome *outcome = &probe->outcome;
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
    if (probe->output_length > 0)
        return case_fail(conformance, "%s: something ran: on_output was called", when);
    if (shows_marker(probe, outcome->text))
        return case_fail(conformance, "%s: something ran: its marker is in the result", when);
    return CASE_PASSED;
}

enum case_result probe_host_expect_ran(struct probe_host *probe, const char *when)
{
    struct conformance *conformance = probe->conformance;
    const struct outcome *outcome = &probe->outcome;
    const json_t *error = json_object_get(outcome->result, "error");
    if (outcome->code != TOOL_OK)
        return case_fail(conformance, "%s: did not run (%d): %s: %s", when, (int)outcome->code,
                         json_member_string(error, "code", "?"),
                         json_member_string(error, "message", "?"));
    if (!json_is_object(outcome->result))
        return case_fail(conformance, "%s: *output_json is not a JSON object", when);
    if (conformance_input_has_marker(conformance->tool) &&
        !shows_marker(probe, json_member_string(outcome->result, "stdout", NULL)))
        return case_fail(conformance, "%s: the program's output is not in the result", when);
    return CASE_PASSED;
}

enum case_result probe_host_expect_status(struct probe_host *probe, const char *status)
{
    const char *found = json_member_string(probe->outcome.result, "status", "none");
    return strcmp(found, status) == 0
               ? CASE_PASSED
               : case_fail(probe->conformance, "status is %.40s, not %s", found, status);
}

enum case_result probe_host_good_is_denied(struct probe_host *probe, const char *when)
{
    probe_host_invoke_good(probe);
    return probe_host_expect_nothing_ran(probe, when);
}

enum case_result probe_host_good_runs(struct probe_host *probe, const char *when)
{
    probe_host_invoke_good(probe);
    return probe_host_expect_ran(probe, when);
}
