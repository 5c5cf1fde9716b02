/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options: which there are, which commands take them, and what each sets. Main thread.
 */
#include "option_rows.h"

#include <string.h>

#include "cleanup.h"
#include "number.h"

#define FOR          OPTION_FOR
#define FOR_ONE_CALL (FOR(COMMAND_RUN) | FOR(COMMAND_INVOKE))
#define FOR_CALLS    (FOR_ONE_CALL | FOR(COMMAND_MCP))
#define FOR_PROVIDER                                                                 \
    (FOR(COMMAND_POLICY) | FOR_CALLS | FOR(COMMAND_MANIFEST) | FOR(COMMAND_DOCTOR) | \
     FOR(COMMAND_STATUS))
#define FOR_ALL UINT32_MAX

#define LONGEST_GRANT_DAYS 3650u
#define MOST_CALLS         1024u
#define LONGEST_TIMEOUT_MS UINT64_C(86400000)

static bool split_pair(const char *text, struct name_value *ret, const char *option,
                       struct failure *failure)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return failure_usage(failure, "%s wants NAME=VALUE", option);
    ret->name = strndup(text, (size_t)(equals - text));
    if (!ret->name)
        return failure_out_of_memory(failure);
    ret->value = equals + 1;
    return true;
}

static bool set_plugin(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->plugin = value;
    return true;
}

static bool set_policy(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->policy = value;
    return true;
}

static bool set_sandbox(struct options *options, const char *value, struct failure *failure)
{
    if (strcmp(value, "docker") != 0 && strcmp(value, "process") != 0 && strcmp(value, "none") != 0)
        return failure_usage(failure, "--sandbox wants docker, process or none, not %s", value);
    options->sandbox = value;
    return true;
}

static bool add_capability(struct options *options, const char *value, struct failure *failure)
{
    if (!*value)
        return failure_usage(failure, "%s wants a capability's name", "--cap");
    if (options->capability_count == OPTIONS_CAPABILITIES)
        return failure_usage(failure, "too many %s", "--cap");
    options->capabilities[options->capability_count++] = value;
    return true;
}

static bool set_no_default_capabilities(struct options *options, const char *value,
                                        struct failure *failure)
{
    (void)value;
    (void)failure;
    options->no_default_capabilities = true;
    return true;
}

static bool add_secret(struct options *options, const char *value, struct failure *failure)
{
    if (options->secret_count == OPTIONS_SECRETS)
        return failure_usage(failure, "too many %s", "--secret");
    if (!split_pair(value, &options->secrets[options->secret_count], "--secret", failure))
        return false;
    options->secret_count++;
    return true;
}

static bool set_approve(struct options *options, const char *value, struct failure *failure)
{
    options->approver_named = true;
    return approval_option_parse(value, &options->approver, failure);
}

static bool set_approvals(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->approver.store = value;
    return true;
}

static bool set_webhook_key(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->approver.webhook_key = value;
    return true;
}

static bool set_always(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->always = true;
    return true;
}

static bool set_days(struct options *options, const char *value, struct failure *failure)
{
    if (!number_parse(value, LONGEST_GRANT_DAYS, &options->days) || options->days == 0)
        return failure_usage(failure, "--days wants 1 to %u, not %s", LONGEST_GRANT_DAYS, value);
    return true;
}

static bool set_reason(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->reason = value;
    return true;
}

static bool set_audit(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->audit.path = value;
    return true;
}

static bool set_verbose(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->verbose = true;
    return true;
}

static bool set_metrics(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->metrics = value;
    return true;
}

static bool set_once(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->once = true;
    return true;
}

static bool set_json(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->json = true;
    return true;
}

static bool set_sweep(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->sweep = true;
    return true;
}

static bool set_workspace(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->workspace = value;
    return true;
}

static bool set_input(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->input = value;
    return true;
}

static bool set_context(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->context = value;
    return true;
}

static bool set_tool(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->tool = value;
    return true;
}

static bool set_language(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->language = value;
    return true;
}

static bool set_code(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->code = value;
    return true;
}

static bool set_timeout(struct options *options, const char *value, struct failure *failure)
{
    if (!number_parse(value, LONGEST_TIMEOUT_MS, &options->timeout_ms) || options->timeout_ms == 0)
        return failure_usage(failure, "--timeout-ms wants milliseconds, not %s", value);
    return true;
}

static bool set_stdin(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->stdin_file = value;
    return true;
}

static bool add_environment(struct options *options, const char *value, struct failure *failure)
{
    if (options->environment_count == OPTIONS_PAIRS)
        return failure_usage(failure, "too many %s", "--env");
    struct name_value *pair = &options->environment[options->environment_count];
    const char *equals = strchr(value, '=');
    if (equals && equals != value && !equals[1]) { /* an empty value is a value here */
        *pair = (struct name_value){strndup(value, (size_t)(equals - value)), ""};
        if (!pair->name)
            return failure_out_of_memory(failure);
    } else if (!split_pair(value, pair, "--env", failure)) {
        return false;
    }
    options->environment_count++;
    return true;
}

static bool set_network(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->network = true;
    return true;
}

static bool add_used_secret(struct options *options, const char *value, struct failure *failure)
{
    if (options->used_secret_count == OPTIONS_PAIRS)
        return failure_usage(failure, "too many %s", "--use-secret");
    if (!split_pair(value, &options->used_secrets[options->used_secret_count], "--use-secret",
                    failure))
        return false;
    options->used_secret_count++;
    return true;
}

static bool set_audit_key(struct options *options, const char *value, struct failure *failure)
{
    if (options->audit.key_count == OPTIONS_AUDIT_KEYS)
        return failure_usage(failure, "too many %s", "--audit-key");
    options->audit.keys[options->audit.key_count++] = value;
    return true;
}

static bool set_audit_max_bytes(struct options *options, const char *value, struct failure *failure)
{
    uint64_t bytes = 0;
    if (!number_parse(value, INT64_MAX, &bytes) || (bytes > 0 && bytes < AUDIT_MAX_BYTES_LEAST))
        return failure_usage(failure, "--audit-max-bytes wants 0 (never) or %u at least, not %s",
                             AUDIT_MAX_BYTES_LEAST, value);
    options->audit.max_bytes = bytes;
    return true;
}

static bool set_previous_key(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->audit.previous_key = value;
    return true;
}

static bool set_head(struct options *options, const char *value, struct failure *failure)
{
    if (strlen(value) != 64 || strspn(value, "0123456789abcdef") != 64)
        return failure_usage(failure, "%s wants the sha256 of a record", "--head");
    options->audit.head = value;
    return true;
}

static bool set_partial(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->audit.partial = true;
    return true;
}

static bool set_run(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->audit.shown.run = value;
    return true;
}

static bool set_principal(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->audit.shown.principal = value;
    return true;
}

static bool set_status(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->audit.shown.status = value;
    return true;
}

/* A day, or more of the time, as the log has it: they are compared as text. */
static bool take_time(const char *value, const char *option, const char **ret,
                      struct failure *failure)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";
    size_t length = strlen(value);
    bool fits = length >= strlen("0000-00-00") && length < sizeof(form);
    for (size_t i = 0; fits && i < length; i++)
        fits = form[i] == '0' ? value[i] >= '0' && value[i] <= '9' : value[i] == form[i];
    if (!fits)
        return failure_usage(failure, "%s wants 2026-01-31 or 2026-01-31T12:00:00 (UTC), not %s",
                             option, value);
    *ret = value;
    return true;
}

static bool set_since(struct options *options, const char *value, struct failure *failure)
{
    return take_time(value, "--since", &options->audit.shown.since, failure);
}

static bool set_until(struct options *options, const char *value, struct failure *failure)
{
    return take_time(value, "--until", &options->audit.shown.until, failure);
}

static bool set_case(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->only_case = value;
    return true;
}

static bool set_format(struct options *options, const char *value, struct failure *failure)
{
    (void)failure;
    options->format = value;
    return true;
}

static bool set_listen(struct options *options, const char *value, struct failure *failure)
{
    static const char prefix[] = "unix:";
    if (strncmp(value, prefix, strlen(prefix)) != 0 || !value[strlen(prefix)])
        return failure_usage(failure, "--listen wants unix:PATH, not %s", value);
    options->listen = value + strlen(prefix);
    return true;
}

static bool set_max_calls(struct options *options, const char *value, struct failure *failure)
{
    if (!number_parse(value, MOST_CALLS, &options->max_calls) || options->max_calls == 0)
        return failure_usage(failure, "--max-calls wants a number up to %u, not %s", MOST_CALLS,
                             value);
    return true;
}

static bool set_no_elicitation(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->no_elicitation = true;
    return true;
}

static bool set_help(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->command = COMMAND_HELP;
    return true;
}

static bool set_version(struct options *options, const char *value, struct failure *failure)
{
    (void)value;
    (void)failure;
    options->command = COMMAND_VERSION;
    return true;
}

const struct option_row option_rows[] = {
    {"plugin", 0, true, FOR_PROVIDER, set_plugin},
    {"policy", 0, true, FOR_CALLS | FOR(COMMAND_DOCTOR) | FOR(COMMAND_STATUS) | FOR(COMMAND_POLICY),
     set_policy},
    {"sandbox", 0, true,
     FOR_CALLS | FOR(COMMAND_DOCTOR) | FOR(COMMAND_STATUS) | FOR(COMMAND_POLICY), set_sandbox},
    {"cap", 0, true, FOR_CALLS, add_capability},
    {"no-default-caps", 0, false, FOR_CALLS, set_no_default_capabilities},
    {"secret", 0, true, FOR_CALLS, add_secret},
    {"approve", 0, true, FOR_CALLS, set_approve},
    {"approvals", 0, true, FOR_CALLS | FOR(COMMAND_APPROVALS), set_approvals},
    {"webhook-key", 0, true, FOR_CALLS, set_webhook_key},
    {"always", 0, false, FOR(COMMAND_APPROVALS), set_always},
    {"days", 0, true, FOR(COMMAND_APPROVALS), set_days},
    {"reason", 0, true, FOR(COMMAND_APPROVALS), set_reason},
    {"audit", 0, true, FOR_CALLS, set_audit},
    {"audit-key", 0, true, FOR_CALLS | FOR(COMMAND_AUDIT), set_audit_key},
    {"audit-max-bytes", 0, true, FOR_CALLS, set_audit_max_bytes},
    {"verbose", 'v', false, FOR_ALL, set_verbose},
    {"metrics", 0, true, FOR(COMMAND_STATUS) | FOR(COMMAND_MCP) | FOR(COMMAND_TOP), set_metrics},
    {"once", 0, false, FOR(COMMAND_TOP), set_once},
    {"json", 0, false,
     FOR(COMMAND_STATUS) | FOR(COMMAND_DOCTOR) | FOR(COMMAND_POLICY) | FOR(COMMAND_APPROVALS),
     set_json},
    {"sweep", 0, false, FOR(COMMAND_DOCTOR), set_sweep},
    {"workspace", 0, true, FOR_CALLS, set_workspace},
    {"tool", 0, true, FOR_ONE_CALL | FOR(COMMAND_POLICY), set_tool},
    {"input", 0, true, FOR(COMMAND_POLICY), set_input},
    {"context", 0, true, FOR(COMMAND_POLICY), set_context},
    {"language", 'l', true, FOR(COMMAND_RUN), set_language},
    {"code", 'c', true, FOR(COMMAND_RUN), set_code},
    {"timeout-ms", 0, true, FOR(COMMAND_RUN) | FOR(COMMAND_CONFORMANCE), set_timeout},
    {"stdin", 0, true, FOR(COMMAND_RUN), set_stdin},
    {"env", 0, true, FOR(COMMAND_RUN), add_environment},
    {"network", 0, false, FOR(COMMAND_RUN), set_network},
    {"use-secret", 0, true, FOR(COMMAND_RUN), add_used_secret},
    {"head", 0, true, FOR(COMMAND_AUDIT), set_head},
    {"partial", 0, false, FOR(COMMAND_AUDIT), set_partial},
    {"previous-key", 0, true, FOR(COMMAND_AUDIT), set_previous_key},
    {"run", 0, true, FOR(COMMAND_AUDIT), set_run},
    {"principal", 0, true, FOR(COMMAND_AUDIT), set_principal},
    {"status", 0, true, FOR(COMMAND_AUDIT), set_status},
    {"since", 0, true, FOR(COMMAND_AUDIT), set_since},
    {"until", 0, true, FOR(COMMAND_AUDIT), set_until},
    {"case", 0, true, FOR(COMMAND_CONFORMANCE), set_case},
    {"format", 0, true, FOR(COMMAND_MANIFEST) | FOR(COMMAND_INVOKE) | FOR(COMMAND_STATUS),
     set_format},
    {"mode", 0, true, FOR(COMMAND_MCP), set_sandbox},
    {"listen", 0, true, FOR(COMMAND_MCP), set_listen},
    {"max-calls", 0, true, FOR(COMMAND_MCP), set_max_calls},
    {"no-elicitation", 0, false, FOR(COMMAND_MCP), set_no_elicitation},
    {"help", 'h', false, FOR_ALL, set_help},
    {"version", 0, false, FOR_ALL, set_version},
};
const size_t option_row_count = COUNT_OF(option_rows);
