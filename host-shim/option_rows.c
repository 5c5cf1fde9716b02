/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options: which there are, which commands take them, and what each sets. Main thread.
 */
#include "option_rows.h"

#include <inttypes.h>
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

static bool set_text(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    (void)failure;
    memcpy((char *)options + row->place, &value, sizeof(value));
    return true;
}

static bool set_flag(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    static const bool on = true;
    (void)value;
    (void)failure;
    memcpy((char *)options + row->place, &on, sizeof(on));
    return true;
}

/* For rows whose option is only kept. A member of another type does not compile. */
#define TEXT(member)                             \
    set_text, offsetof(struct options, member) * \
                  _Generic(((struct options *)0)->member, const char * : 1)
#define FLAG(member) \
    set_flag, offsetof(struct options, member) * _Generic(((struct options *)0)->member, bool : 1)

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

static bool set_sandbox(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure)
{
    (void)row;
    if (strcmp(value, "docker") != 0 && strcmp(value, "process") != 0 && strcmp(value, "none") != 0)
        return failure_usage(failure, "--sandbox wants docker, process or none, not %s", value);
    options->sandbox = value;
    return true;
}

static bool add_capability(const struct option_row *row, struct options *options, const char *value,
                           struct failure *failure)
{
    (void)row;
    if (!*value)
        return failure_usage(failure, "%s wants a capability's name", "--cap");
    if (options->capability_count == OPTIONS_CAPABILITIES)
        return failure_usage(failure, "too many %s", "--cap");
    options->capabilities[options->capability_count++] = value;
    return true;
}

static bool add_secret(const struct option_row *row, struct options *options, const char *value,
                       struct failure *failure)
{
    (void)row;
    if (options->secret_count == OPTIONS_SECRETS)
        return failure_usage(failure, "too many %s", "--secret");
    if (!split_pair(value, &options->secrets[options->secret_count], "--secret", failure))
        return false;
    options->secret_count++;
    return true;
}

static bool set_approve(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure)
{
    (void)row;
    options->approver_named = true;
    return approval_option_parse(value, &options->approver, failure);
}

static bool set_days(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    (void)row;
    if (!number_parse(value, LONGEST_GRANT_DAYS, &options->days) || options->days == 0)
        return failure_usage(failure, "--days wants 1 to %u, not %s", LONGEST_GRANT_DAYS, value);
    return true;
}

static bool set_timeout(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure)
{
    (void)row;
    if (!number_parse(value, LONGEST_TIMEOUT_MS, &options->timeout_ms) || options->timeout_ms == 0)
        return failure_usage(failure, "--timeout-ms wants 1 to %" PRIu64 " milliseconds, not %s",
                             LONGEST_TIMEOUT_MS, value);
    return true;
}

static bool add_environment(const struct option_row *row, struct options *options,
                            const char *value, struct failure *failure)
{
    (void)row;
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

static bool add_used_secret(const struct option_row *row, struct options *options,
                            const char *value, struct failure *failure)
{
    (void)row;
    if (options->used_secret_count == OPTIONS_PAIRS)
        return failure_usage(failure, "too many %s", "--use-secret");
    if (!split_pair(value, &options->used_secrets[options->used_secret_count], "--use-secret",
                    failure))
        return false;
    options->used_secret_count++;
    return true;
}

static bool set_audit_key(const struct option_row *row, struct options *options, const char *value,
                          struct failure *failure)
{
    (void)row;
    if (options->audit.key_count == OPTIONS_AUDIT_KEYS)
        return failure_usage(failure, "too many %s", "--audit-key");
    options->audit.keys[options->audit.key_count++] = value;
    return true;
}

static bool set_audit_max_bytes(const struct option_row *row, struct options *options,
                                const char *value, struct failure *failure)
{
    (void)row;
    uint64_t bytes = 0;
    if (!number_parse(value, INT64_MAX, &bytes) || (bytes > 0 && bytes < AUDIT_MAX_BYTES_LEAST))
        return failure_usage(failure, "--audit-max-bytes wants 0 (never) or %u at least, not %s",
                             AUDIT_MAX_BYTES_LEAST, value);
    options->audit.max_bytes = bytes;
    return true;
}

static bool set_head(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    (void)row;
    if (strlen(value) != 64 || strspn(value, "0123456789abcdef") != 64)
        return failure_usage(failure, "%s wants the sha256 of a record", "--head");
    options->audit.head = value;
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

static bool set_since(const struct option_row *row, struct options *options, const char *value,
                      struct failure *failure)
{
    (void)row;
    return take_time(value, "--since", &options->audit.shown.since, failure);
}

static bool set_until(const struct option_row *row, struct options *options, const char *value,
                      struct failure *failure)
{
    (void)row;
    return take_time(value, "--until", &options->audit.shown.until, failure);
}

static bool set_listen(const struct option_row *row, struct options *options, const char *value,
                       struct failure *failure)
{
    (void)row;
    static const char prefix[] = "unix:";
    if (strncmp(value, prefix, strlen(prefix)) != 0 || !value[strlen(prefix)])
        return failure_usage(failure, "--listen wants unix:PATH, not %s", value);
    options->listen = value + strlen(prefix);
    return true;
}

static bool set_max_calls(const struct option_row *row, struct options *options, const char *value,
                          struct failure *failure)
{
    (void)row;
    if (!number_parse(value, MOST_CALLS, &options->max_calls) || options->max_calls == 0)
        return failure_usage(failure, "--max-calls wants a number up to %u, not %s", MOST_CALLS,
                             value);
    return true;
}

static bool set_help(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    (void)row;
    (void)value;
    (void)failure;
    options->command = COMMAND_HELP;
    return true;
}

static bool set_version(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure)
{
    (void)row;
    (void)value;
    (void)failure;
    options->command = COMMAND_VERSION;
    return true;
}

const struct option_row option_rows[] = {
    {"plugin", 0, true, FOR_PROVIDER, TEXT(plugin)},
    {"policy", 0, true, FOR_CALLS | FOR(COMMAND_DOCTOR) | FOR(COMMAND_STATUS) | FOR(COMMAND_POLICY),
     TEXT(policy)},
    {"sandbox", 0, true,
     FOR_CALLS | FOR(COMMAND_DOCTOR) | FOR(COMMAND_STATUS) | FOR(COMMAND_POLICY), set_sandbox, 0},
    {"cap", 0, true, FOR_CALLS, add_capability, 0},
    {"no-default-caps", 0, false, FOR_CALLS, FLAG(no_default_capabilities)},
    {"secret", 0, true, FOR_CALLS, add_secret, 0},
    {"approve", 0, true, FOR_CALLS, set_approve, 0},
    {"approvals", 0, true, FOR_CALLS | FOR(COMMAND_APPROVALS), TEXT(approver.store)},
    {"webhook-key", 0, true, FOR_CALLS, TEXT(approver.webhook_key)},
    {"always", 0, false, FOR(COMMAND_APPROVALS), FLAG(always)},
    {"days", 0, true, FOR(COMMAND_APPROVALS), set_days, 0},
    {"reason", 0, true, FOR(COMMAND_APPROVALS), TEXT(reason)},
    {"audit", 0, true, FOR_CALLS, TEXT(audit.path)},
    {"audit-key", 0, true, FOR_CALLS | FOR(COMMAND_AUDIT), set_audit_key, 0},
    {"audit-max-bytes", 0, true, FOR_CALLS, set_audit_max_bytes, 0},
    {"verbose", 'v', false, FOR(COMMAND_RUN) | FOR(COMMAND_CONFORMANCE), FLAG(verbose)},
    {"metrics", 0, true, FOR(COMMAND_STATUS) | FOR(COMMAND_MCP) | FOR(COMMAND_TOP), TEXT(metrics)},
    {"once", 0, false, FOR(COMMAND_TOP), FLAG(once)},
    {"json", 0, false,
     FOR(COMMAND_STATUS) | FOR(COMMAND_DOCTOR) | FOR(COMMAND_POLICY) | FOR(COMMAND_APPROVALS),
     FLAG(json)},
    {"sweep", 0, false, FOR(COMMAND_DOCTOR), FLAG(sweep)},
    {"workspace", 0, true, FOR_CALLS, TEXT(workspace)},
    {"narrow", 0, true, FOR_CALLS, TEXT(narrow)},
    {"tool", 0, true, FOR_ONE_CALL | FOR(COMMAND_POLICY), TEXT(tool)},
    {"input", 0, true, FOR(COMMAND_POLICY), TEXT(input)},
    {"context", 0, true, FOR(COMMAND_POLICY), TEXT(context)},
    {"language", 'l', true, FOR(COMMAND_RUN), TEXT(language)},
    {"code", 'c', true, FOR(COMMAND_RUN), TEXT(code)},
    {"timeout-ms", 0, true, FOR(COMMAND_RUN) | FOR(COMMAND_CONFORMANCE), set_timeout, 0},
    {"stdin", 0, true, FOR(COMMAND_RUN), TEXT(stdin_file)},
    {"env", 0, true, FOR(COMMAND_RUN), add_environment, 0},
    {"network", 0, false, FOR(COMMAND_RUN), FLAG(network)},
    {"use-secret", 0, true, FOR(COMMAND_RUN), add_used_secret, 0},
    {"head", 0, true, FOR(COMMAND_AUDIT), set_head, 0},
    {"partial", 0, false, FOR(COMMAND_AUDIT), FLAG(audit.partial)},
    {"previous-key", 0, true, FOR(COMMAND_AUDIT), TEXT(audit.previous_key)},
    {"run", 0, true, FOR(COMMAND_AUDIT), TEXT(audit.shown.run)},
    {"principal", 0, true, FOR(COMMAND_AUDIT), TEXT(audit.shown.principal)},
    {"status", 0, true, FOR(COMMAND_AUDIT), TEXT(audit.shown.status)},
    {"since", 0, true, FOR(COMMAND_AUDIT), set_since, 0},
    {"until", 0, true, FOR(COMMAND_AUDIT), set_until, 0},
    {"case", 0, true, FOR(COMMAND_CONFORMANCE), TEXT(only_case)},
    {"format", 0, true, FOR(COMMAND_MANIFEST) | FOR(COMMAND_INVOKE) | FOR(COMMAND_STATUS),
     TEXT(format)},
    {"mode", 0, true, FOR(COMMAND_MCP), set_sandbox, 0},
    {"listen", 0, true, FOR(COMMAND_MCP), set_listen, 0},
    {"max-calls", 0, true, FOR(COMMAND_MCP), set_max_calls, 0},
    {"metrics-listen", 0, true, FOR(COMMAND_MCP), TEXT(metrics_listen)},
    {"no-elicitation", 0, false, FOR(COMMAND_MCP), FLAG(no_elicitation)},
    {"elicitation-choice", 0, false, FOR(COMMAND_MCP), FLAG(elicitation_choice)},
    {"help", 'h', false, FOR_ALL, set_help, 0},
    {"version", 0, false, FOR_ALL, set_version, 0},
};
const size_t option_row_count = COUNT_OF(option_rows);
