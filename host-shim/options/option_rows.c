/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options: which there are, which commands take them, and what each sets. Main thread.
 */
#include "options/option_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/number.h"

#define FOR          OPTION_FOR
#define FOR_ONE_CALL (FOR(COMMAND_RUN) | FOR(COMMAND_INVOKE))
#define FOR_PROGRAM  (FOR(COMMAND_RUN) | FOR(COMMAND_SESSION))
#define FOR_CALLS    (FOR_ONE_CALL | FOR(COMMAND_SESSION) | FOR(COMMAND_MCP))
#define FOR_PROVIDER                                                                 \
    (FOR(COMMAND_POLICY) | FOR_CALLS | FOR(COMMAND_MANIFEST) | FOR(COMMAND_DOCTOR) | \
     FOR(COMMAND_STATUS) | FOR(COMMAND_ENV))
#define FOR_ALL UINT32_MAX /* COMMAND_NONE too: toolhost --help */

#define LONGEST_GRANT_DAYS 3650u
#define MOST_CALLS         1024u
#define LONGEST_TIMEOUT_MS UINT64_C(86400000)
#define SHORTEST_WATCH_MS  100u
#define LONGEST_WATCH_MS   UINT64_C(86400000)
#define LONGEST_AGE_MS     (UINT64_C(36500) * 86400000)

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
#define PAIRS(add, member)                  \
    add, offsetof(struct options, member) * \
             _Generic(((struct options *)0)->member, struct name_values : 1)

static bool split_pair(const struct option_row *row, const char *text, bool may_be_empty,
                       struct name_value *ret, struct failure *failure)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (!equals[1] && !may_be_empty))
        return failure_usage(failure, "--%s must be NAME=VALUE", row->name);
    ret->name = strndup(text, (size_t)(equals - text));
    ret->value = equals + 1;
    return ret->name || failure_out_of_memory(failure);
}

static bool add_pair(const struct option_row *row, struct options *options, const char *value,
                     bool may_be_empty, struct failure *failure)
{
    struct name_values *list = (void *)((char *)options + row->place);
    if (list->count == OPTIONS_PAIRS)
        return failure_usage(failure, "too many --%s", row->name);
    if (!split_pair(row, value, may_be_empty, &list->pairs[list->count], failure))
        return false;
    list->count++;
    return true;
}

static bool add_full_pair(const struct option_row *row, struct options *options, const char *value,
                          struct failure *failure)
{
    return add_pair(row, options, value, false, failure);
}

static bool add_any_pair(const struct option_row *row, struct options *options, const char *value,
                         struct failure *failure)
{
    return add_pair(row, options, value, true, failure);
}

/* PATH=NAME, or a path whose last part is the name. */
static bool add_file(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    struct name_values *list = &options->files;
    const char *equals = strrchr(value, '=');
    const char *slash = strrchr(value, '/');
    const char *name = equals ? equals + 1 : slash ? slash + 1 : value;
    size_t length = equals ? (size_t)(equals - value) : strlen(value);
    if (length == 0 || !*name)
        return failure_usage(failure, "--%s must be PATH or PATH=NAME, not %s", row->name, value);
    if (list->count == OPTIONS_PAIRS)
        return failure_usage(failure, "too many --%s", row->name);
    list->pairs[list->count] = (struct name_value){strndup(value, length), name};
    return list->pairs[list->count++].name || failure_out_of_memory(failure);
}

static bool set_sandbox(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure)
{
    (void)row;
    static const char words[] = " " SANDBOX_MODE_WORDS " ";
    char word[sizeof(words)];
    int length = snprintf(word, sizeof(word), " %s ", value);
    if (strchr(value, ' ') || length >= (int)sizeof(word) || !strstr(words, word))
        return failure_usage(failure, "--sandbox must be " SANDBOX_MODE_LIST ", not %s", value);
    options->sandbox = value;
    return true;
}

static bool add_capability(const struct option_row *row, struct options *options, const char *value,
                           struct failure *failure)
{
    (void)row;
    if (!*value)
        return failure_usage(failure, "%s needs the name of a capability", "--cap");
    if (options->capability_count == OPTIONS_CAPABILITIES)
        return failure_usage(failure, "too many %s", "--cap");
    options->capabilities[options->capability_count++] = value;
    return true;
}

static bool add_endpoint(const struct option_row *row, struct options *options, const char *value,
                         struct failure *failure)
{
    if (!*value)
        return failure_usage(failure, "--%s needs the name of an endpoint", row->name);
    if (options->endpoint_count == OPTIONS_ENDPOINTS)
        return failure_usage(failure, "too many --%s", row->name);
    options->endpoints[options->endpoint_count++] = value;
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
        return failure_usage(failure, "--days must be a number from 1 to %u, not %s",
                             LONGEST_GRANT_DAYS, value);
    return true;
}

static bool set_timeout(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure)
{
    (void)row;
    if (*value && strspn(value, "0123456789") == strlen(value))
        return failure_usage(failure, "--timeout needs a unit: %ss, %sms or %sm", value, value,
                             value);
    if (!duration_parse(value, LONGEST_TIMEOUT_MS, &options->timeout_ms) ||
        options->timeout_ms == 0)
        return failure_usage(failure,
                             "--timeout must be a duration such as 500ms, 5s or 1m, not %s", value);
    return true;
}

static bool set_watch(const struct option_row *row, struct options *options, const char *value,
                      struct failure *failure)
{
    (void)row;
    if (!duration_parse(value, LONGEST_WATCH_MS, &options->watch_ms) ||
        options->watch_ms < SHORTEST_WATCH_MS)
        return failure_usage(failure, "--watch must be a duration from %ums to 1d, not %s",
                             SHORTEST_WATCH_MS, value);
    return true;
}

static bool set_timeout_ms(const struct option_row *row, struct options *options, const char *value,
                           struct failure *failure)
{
    (void)row;
    if (!number_parse(value, LONGEST_TIMEOUT_MS, &options->timeout_ms) || options->timeout_ms == 0)
        return failure_usage(failure, "--timeout-ms must be 1 to %" PRIu64 " milliseconds, not %s",
                             LONGEST_TIMEOUT_MS, value);
    return true;
}

static bool set_audit_key(const struct option_row *row, struct options *options, const char *value,
                          struct failure *failure)
{
    (void)row;
    if (options->audit.key_count == COUNT_OF(options->audit.keys))
        return failure_usage(failure, "too many %s", "--audit-key");
    options->audit.keys[options->audit.key_count++] = value;
    return true;
}

static bool set_artifacts_max_bytes(const struct option_row *row, struct options *options,
                                    const char *value, struct failure *failure)
{
    if (!size_parse(value, INT64_MAX, &options->artifacts_max_bytes))
        return failure_usage(failure, "--%s must be a size such as 500MiB or 2G, not %s", row->name,
                             value);
    return true;
}

static bool set_artifacts_age(const struct option_row *row, struct options *options,
                              const char *value, struct failure *failure)
{
    if (!duration_parse(value, LONGEST_AGE_MS, &options->artifacts_age_ms) ||
        options->artifacts_age_ms == 0)
        return failure_usage(failure, "--%s must be a duration such as 1h or 7d, not %s", row->name,
                             value);
    return true;
}

static bool set_audit_max_bytes(const struct option_row *row, struct options *options,
                                const char *value, struct failure *failure)
{
    (void)row;
    uint64_t bytes = 0;
    if (!number_parse(value, INT64_MAX, &bytes) || (bytes > 0 && bytes < AUDIT_MAX_BYTES_LEAST))
        return failure_usage(failure, "--audit-max-bytes must be 0 (never) or at least %u, not %s",
                             AUDIT_MAX_BYTES_LEAST, value);
    options->audit.max_bytes = bytes;
    return true;
}

static bool set_head(const struct option_row *row, struct options *options, const char *value,
                     struct failure *failure)
{
    (void)row;
    if (!ascii_is_hex(value, 64))
        return failure_usage(failure, "%s must be the sha256 of a record", "--head");
    options->audit.head = value;
    return true;
}

/* So long ago; the log has its times as text, which is compared. */
static bool take_age(uint64_t age_ms, char ret[AUDIT_TIME_SIZE])
{
    struct tm parts;
    time_t then = time(NULL) - (time_t)(age_ms / 1000);
    return gmtime_r(&then, &parts) &&
           strftime(ret, AUDIT_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0;
}

static bool take_time(const char *value, const char *option, char ret[AUDIT_TIME_SIZE],
                      struct failure *failure)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";
    uint64_t age_ms = 0;
    size_t length = strlen(value);
    if (duration_parse(value, LONGEST_AGE_MS, &age_ms) && take_age(age_ms, ret))
        return true;
    bool fits = length >= strlen("0000-00-00") && length < sizeof(form);
    for (size_t i = 0; fits && i < length; i++)
        fits = form[i] == '0' ? value[i] >= '0' && value[i] <= '9' : value[i] == form[i];
    if (!fits)
        return failure_usage(failure,
                             "%s must be an age such as 1h or 7d, or a time such as 2026-01-31 or "
                             "2026-01-31T12:00:00 (UTC), not %s",
                             option, value);
    memcpy(ret, value, length + 1);
    return true;
}

static bool set_since(const struct option_row *row, struct options *options, const char *value,
                      struct failure *failure)
{
    (void)row;
    return take_time(value, "--since", options->audit.shown.since, failure);
}

static bool set_until(const struct option_row *row, struct options *options, const char *value,
                      struct failure *failure)
{
    (void)row;
    return take_time(value, "--until", options->audit.shown.until, failure);
}

static bool set_listen(const struct option_row *row, struct options *options, const char *value,
                       struct failure *failure)
{
    (void)row;
    static const char prefix[] = "unix:";
    if (strncmp(value, prefix, strlen(prefix)) != 0 || !value[strlen(prefix)])
        return failure_usage(failure, "--listen must be unix:PATH, not %s", value);
    options->listen = value + strlen(prefix);
    return true;
}

static bool set_result(const struct option_row *row, struct options *options, const char *value,
                       struct failure *failure)
{
    (void)row;
    options->full_result = strcmp(value, "full") == 0;
    if (!options->full_result && strcmp(value, "brief") != 0)
        return failure_usage(failure, "--result must be brief or full, not %s", value);
    return true;
}

static bool set_max_calls(const struct option_row *row, struct options *options, const char *value,
                          struct failure *failure)
{
    (void)row;
    if (!number_parse(value, MOST_CALLS, &options->max_calls) || options->max_calls == 0)
        return failure_usage(failure, "--max-calls must be a number up to %u, not %s", MOST_CALLS,
                             value);
    return true;
}

const struct option_row option_rows[] = {
    {"plugin", 0, "FILE", FOR_PROVIDER,
     "the provider (default: TOOLHOST_PLUGIN, else the one next to toolhost)", "file",
     TEXT(plugin)},
    {"policy", 0, "FILE",
     FOR_CALLS | FOR(COMMAND_DOCTOR) | FOR(COMMAND_STATUS) | FOR(COMMAND_POLICY) |
         FOR(COMMAND_MANIFEST) | FOR(COMMAND_ENV),
     "the provider's policy", "file", TEXT(policy)},
    {"sandbox", 0, "MODE",
     FOR_CALLS | FOR(COMMAND_DOCTOR) | FOR(COMMAND_STATUS) | FOR(COMMAND_POLICY) |
         FOR(COMMAND_MANIFEST),
     "how the provider isolates: " SANDBOX_MODE_LIST, "words " SANDBOX_MODE_WORDS, set_sandbox, 0},
    {"cap", 0, "NAME", FOR_CALLS,
     "grant a capability; may be repeated. NAME=VALUE grants it for that value only, !NAME and "
     "!NAME=VALUE deny it",
     NULL, add_capability, 0},
    {"no-default-caps", 0, NULL, FOR_CALLS,
     "do not grant the capabilities that the provider's manifest grants by default", NULL,
     FLAG(no_default_capabilities)},
    {"secret", 0, "NAME=FILE", FOR_CALLS,
     "offer the content of a file as a secret; may be repeated", "file",
     PAIRS(add_full_pair, secrets)},
    {"approve", 0, "HOW", FOR_CALLS,
     "ask at the terminal (the default), always, never, cmd:PROGRAM, queue (wait for toolhost "
     "approvals), pending (do not wait) or webhook:URL",
     "words ask always never queue pending cmd: webhook:", set_approve, 0},
    {"approvals", 0, "FILE", FOR_CALLS | FOR(COMMAND_APPROVALS),
     "the file of grants and waiting requests", "file", TEXT(approver.store)},
    {"webhook-key", 0, "FILE", FOR_CALLS, "the key that signs what goes to a webhook", "file",
     TEXT(approver.webhook_key)},
    {"always", 0, NULL, FOR(COMMAND_APPROVALS),
     "approve: also allow identical requests for the time of --days", NULL, FLAG(always)},
    {"cells", 0, NULL, FOR(COMMAND_APPROVALS),
     "approve: also allow all further code of the request's session, unseen, until it ends", NULL,
     FLAG(cells)},
    {"whole-run", 0, NULL, FOR(COMMAND_APPROVALS),
     "approve: also allow all further calls of the same tool in the same run", NULL,
     FLAG(whole_run)},
    {"days", 0, "N", FOR(COMMAND_APPROVALS), "approve --always: how long the grant stands", NULL,
     set_days, 0},
    {"reason", 0, "TEXT", FOR(COMMAND_APPROVALS), "deny: the reason for the caller", NULL,
     TEXT(reason)},
    {"open", 0, NULL, FOR(COMMAND_APPROVALS), "list: only requests that wait for an answer", NULL,
     FLAG(open)},
    {"audit", 0, "FILE", FOR_CALLS, "the audit log; /dev/null: none", "file", TEXT(audit.path)},
    {"audit-key", 0, "FILE", FOR_CALLS | FOR(COMMAND_AUDIT),
     "the key that signs the log; to verify a log, may be repeated", "file", set_audit_key, 0},
    {"audit-max-bytes", 0, "N", FOR_CALLS,
     "begin a new file at that size; 0: never (default 64 MiB)", NULL, set_audit_max_bytes, 0},
    {"out", 0, "DIRECTORY", FOR(COMMAND_RUN),
     "write the files that the program leaves to this directory", "directory", TEXT(out)},
    {"force", 0, NULL, FOR(COMMAND_RUN), "with --out: replace files that are there", NULL,
     FLAG(force)},
    {"show", 0, NULL, FOR_PROGRAM,
     "show pictures in a terminal that can (kitty, Ghostty, iTerm2, WezTerm, VS Code, mintty)",
     NULL, FLAG(show)},
    {"quiet", 'q', NULL, FOR_PROGRAM,
     "print the program's own output and errors, but not its value, displays and files", NULL,
     FLAG(quiet)},
    {"artifacts", 0, "DIRECTORY", FOR_CALLS | FOR(COMMAND_ARTIFACTS),
     "where files that programs leave are kept", "directory", TEXT(artifacts)},
    {"artifacts-max-bytes", 0, "N", FOR_CALLS,
     "keep that much of them, the oldest go first; 0: nothing (default 1 GiB)", NULL,
     set_artifacts_max_bytes, 0},
    {"artifacts-age", 0, "DURATION", FOR_CALLS, "keep them that long (default 1d)", NULL,
     set_artifacts_age, 0},
    {"verbose", 'v', NULL, FOR(COMMAND_RUN) | FOR(COMMAND_CONFORMANCE),
     "print more: with run, how the program was isolated; with conformance, what the provider "
     "prints",
     NULL, FLAG(verbose)},
    {"metrics", 0, "FILE", FOR(COMMAND_STATUS) | FOR(COMMAND_MCP),
     "write the metrics to this file, for Prometheus", "file", TEXT(metrics)},
    {"watch", 0, "DURATION", FOR(COMMAND_STATUS),
     "look again after that time, such as 500ms, 5s or 1m, until interrupted", NULL, set_watch, 0},
    {"json", 0, NULL,
     FOR(COMMAND_RUN) | FOR(COMMAND_STATUS) | FOR(COMMAND_DOCTOR) | FOR(COMMAND_POLICY) |
         FOR(COMMAND_APPROVALS) | FOR(COMMAND_AUDIT) | FOR(COMMAND_ARTIFACTS) |
         FOR(COMMAND_SESSIONS) | FOR(COMMAND_ENV),
     "print JSON; audit show prints one record a line", NULL, FLAG(json)},
    {"sweep", 0, NULL, FOR(COMMAND_DOCTOR), "first remove what dead gateways left on this machine",
     NULL, FLAG(sweep)},
    {"workspace", 0, "DIRECTORY", FOR_CALLS,
     "a directory that the tool may read, if its policy allows it", "directory", TEXT(workspace)},
    {"narrow", 0, "FILE", FOR_CALLS, "a JSON file that narrows the policy for these calls", "file",
     TEXT(narrow)},
    {"tool", 0, "NAME", FOR_ONE_CALL | FOR(COMMAND_SESSION) | FOR(COMMAND_POLICY),
     "which tool to call (default code_execute)", NULL, TEXT(tool)},
    {"input", 0, "FILE", FOR(COMMAND_POLICY), "explain: the tool input", "file", TEXT(input)},
    {"context", 0, "FILE", FOR(COMMAND_POLICY),
     "explain: the context of the call, such as who calls", "file", TEXT(context)},
    {"language", 'l', "LANGUAGE", FOR_PROGRAM,
     "the program's language (default: by the name of FILE; of CODE: python)", NULL,
     TEXT(language)},
    {"code", 'c', "CODE", FOR(COMMAND_RUN), "the program itself", NULL, TEXT(code)},
    {"timeout", 0, "DURATION", FOR_PROGRAM | FOR(COMMAND_CONFORMANCE),
     "the time limit, such as 500ms, 5s or 1m", NULL, set_timeout, 0},
    {"timeout-ms", 0, "N", FOR_PROGRAM | FOR(COMMAND_CONFORMANCE), "the same in milliseconds", NULL,
     set_timeout_ms, 0},
    {"stdin", 0, "FILE", FOR(COMMAND_RUN), "the program's standard input; -: that of toolhost",
     "file", TEXT(stdin_file)},
    {"env", 0, "NAME=VALUE", FOR_PROGRAM,
     "a variable of the program's environment; may be repeated", NULL,
     PAIRS(add_any_pair, environment)},
    {"file", 0, "PATH[=NAME]", FOR_PROGRAM,
     "a file for the program, in its working directory as NAME (default: the path's last part); "
     "may be repeated",
     "file", add_file, 0},
    {"files-below", 0, "DIRECTORY", FOR_CALLS,
     "a directory whose files the tool's input may name by \"ref\", a path relative to it",
     "directory", TEXT(files_below)},
    {"tools-from", 0, "FILE", FOR_CALLS,
     "MCP servers whose tools programs may call, those that the file allows", "file",
     TEXT(tools_from)},
    {"network", 0, NULL, FOR_PROGRAM, "ask for network access", NULL, FLAG(network)},
    {"endpoint", 0, "NAME", FOR_PROGRAM,
     "an endpoint of the policy that the program may reach; may be repeated", NULL, add_endpoint,
     0},
    {"use-secret", 0, "NAME=SECRET", FOR(COMMAND_RUN),
     "a variable whose value is a secret, by handle; may be repeated", NULL,
     PAIRS(add_full_pair, used_secrets)},
    {"set", 0, "NAME=VALUE", FOR_PROGRAM,
     "set a member of the tool's input, such as timeout_ms=5000; may be repeated. The help of run "
     "lists those of the provider",
     NULL, PAIRS(add_any_pair, settings)},
    {"head", 0, "SHA256", FOR(COMMAND_AUDIT),
     "verify: the log must contain the record with this hash", NULL, set_head, 0},
    {"partial", 0, NULL, FOR(COMMAND_AUDIT), "verify: the oldest files may be missing", NULL,
     FLAG(audit.partial)},
    {"previous-key", 0, "FILE", FOR(COMMAND_AUDIT), "rotate: the key that has signed so far",
     "file", TEXT(audit.previous_key)},
    {"run", 0, "ID", FOR(COMMAND_AUDIT), "show: only records of this run", NULL,
     TEXT(audit.shown.run)},
    {"principal", 0, "NAME", FOR(COMMAND_AUDIT), "show: only records of this caller", NULL,
     TEXT(audit.shown.principal)},
    {"status", 0, "STATUS", FOR(COMMAND_AUDIT),
     "show: only runs that ended with this status, such as completed, denied or timeout", NULL,
     TEXT(audit.shown.status)},
    {"since", 0, "TIME", FOR(COMMAND_AUDIT),
     "show: only records since this time: 1h, 7d or 2026-01-31[T12:00:00] (UTC)", NULL, set_since,
     0},
    {"until", 0, "TIME", FOR(COMMAND_AUDIT),
     "show: only records until this time, in the same forms", NULL, set_until, 0},
    {"case", 0, "NAME", FOR(COMMAND_CONFORMANCE), "run only this case", NULL, TEXT(only_case)},
    {"format", 0, "FORMAT", FOR(COMMAND_MANIFEST) | FOR(COMMAND_INVOKE) | FOR(COMMAND_STATUS),
     "manifest: mcp, openai, openai-strict, anthropic or gemini; invoke: openai, openai-shell, "
     "anthropic, gemini, e2b or text; status: prometheus",
     "words mcp openai openai-strict anthropic gemini openai-shell e2b text prometheus",
     TEXT(format)},
    {"mode", 0, "MODE", FOR(COMMAND_MCP), "the same as --sandbox", "words " SANDBOX_MODE_WORDS,
     set_sandbox, 0},
    {"listen", 0, "unix:PATH", FOR(COMMAND_MCP), "serve on this socket instead", NULL, set_listen,
     0},
    {"control", 0, "PATH", FOR(COMMAND_MCP) | FOR(COMMAND_SESSIONS),
     "the socket at which the server's operator lists and ends sessions (toolhost sessions)",
     "file", TEXT(control)},
    {"max-calls", 0, "N", FOR(COMMAND_MCP), "the most calls at the same time (default 32)", NULL,
     set_max_calls, 0},
    {"result", 0, "FORM", FOR(COMMAND_MCP),
     "structured content of results: brief, what a model can act on (the default), or full",
     "words brief full", set_result, 0},
    {"metrics-listen", 0, "ADDRESS", FOR(COMMAND_MCP),
     "serve metrics over HTTP at 127.0.0.1:PORT or [::1]:PORT", NULL, TEXT(metrics_listen)},
    {"no-elicitation", 0, NULL, FOR(COMMAND_MCP), "do not let the client ask its user for approval",
     NULL, FLAG(no_elicitation)},
    {"elicitation-choice", 0, NULL, FOR(COMMAND_MCP),
     "let the client's user also allow it for the session or always", NULL,
     FLAG(elicitation_choice)},
    {"help", 'h', NULL, FOR_ALL, "show this help", NULL, FLAG(help)},
    {"version", 'V', NULL, FOR_ALL, "show the version", NULL, FLAG(version)},
};
const size_t option_row_count = COUNT_OF(option_rows);
