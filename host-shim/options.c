/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the command line. One table says which options there are and which commands take them, so
 * that an option that would have no effect is refused instead of ignored. Main thread.
 */
#include "options.h"

#include <getopt.h>
#include <string.h>

#include "cleanup.h"
#include "number.h"

#define FOR(command) (1u << (command))
#define FOR_ONE_CALL (FOR(COMMAND_RUN) | FOR(COMMAND_INVOKE))
#define FOR_CALLS    (FOR_ONE_CALL | FOR(COMMAND_MCP))
#define FOR_PROVIDER                                                                 \
    (FOR(COMMAND_POLICY) | FOR_CALLS | FOR(COMMAND_MANIFEST) | FOR(COMMAND_DOCTOR) | \
     FOR(COMMAND_STATUS))
#define FOR_ALL UINT32_MAX

#define LONGEST_GRANT_DAYS 3650u
#define MOST_CALLS         1024u
#define LONGEST_TIMEOUT_MS UINT64_C(86400000)

typedef bool set_option(struct options *options, const char *value, struct failure *failure);

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

struct option_row {
    const char *name;
    int letter; /* 0: none */
    bool has_value;
    uint32_t commands;
    set_option *set;
};

static const struct option_row rows[] = {
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

/* A leading '-' hands words over in their order, ':' tells a missing value from a bad option. */
static const char letters[] = "-:vl:c:h";

#define WORD     1 /* what getopt_long() returns for a word */
#define ROW_BASE 256

static const struct {
    const char *name;
    enum command command;
    size_t words_least, words_most;
} commands[] = {
    {"manifest", COMMAND_MANIFEST, 0, 0},
    {"run", COMMAND_RUN, 0, 1},
    {"invoke", COMMAND_INVOKE, 0, 1},
    {"doctor", COMMAND_DOCTOR, 0, 0},
    {"status", COMMAND_STATUS, 0, 0},
    {"top", COMMAND_TOP, 0, OPTIONS_WORDS},
    {"conformance", COMMAND_CONFORMANCE, 1, 1},
    {"conformance-case", COMMAND_CONFORMANCE_CASE, 2, 2},
    {"policy", COMMAND_POLICY, 1, 2},
    {"approvals", COMMAND_APPROVALS, 1, 2},
    {"audit", COMMAND_AUDIT, 1, OPTIONS_WORDS},
    {"mcp", COMMAND_MCP, 0, 0},
    {"help", COMMAND_HELP, 0, 0},
};

static bool take_word(struct options *options, const char *word, struct failure *failure)
{
    if (options->command == COMMAND_NONE) {
        for (size_t i = 0; i < COUNT_OF(commands); i++) {
            if (strcmp(commands[i].name, word) == 0)
                options->command = commands[i].command;
        }
        return options->command != COMMAND_NONE || failure_usage(failure, "no command %s", word);
    }
    if (options->word_count == OPTIONS_WORDS)
        return failure_usage(failure, "too many words from %s on", word);
    options->words[options->word_count++] = word;
    return true;
}

static const struct option_row *find_row(int choice)
{
    if (choice >= ROW_BASE && choice < ROW_BASE + (int)COUNT_OF(rows))
        return &rows[choice - ROW_BASE];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].letter == choice)
            return &rows[i];
    }
    return NULL;
}

static bool take_all(int argc, char **argv, struct options *options, uint64_t *ret_used_rows,
                     struct failure *failure)
{
    struct option long_options[COUNT_OF(rows) + 1] = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        long_options[i] =
            (struct option){rows[i].name, rows[i].has_value ? required_argument : no_argument, NULL,
                            ROW_BASE + (int)i};
    opterr = 0;
    optind = 1;
    for (;;) {
        int choice = getopt_long(argc, argv, letters, long_options, NULL);
        if (choice == -1)
            return true;
        if (choice == ':')
            return failure_usage(failure, "%s wants a value", argv[optind - 1]);
        if (choice == '?')
            return failure_usage(failure, "no option %s (a program's own arguments go behind --)",
                                 argv[optind - 1]);
        if (choice == WORD) {
            if (!take_word(options, optarg, failure))
                return false;
            continue;
        }
        const struct option_row *row = find_row(choice);
        if (!row || !row->set(options, optarg, failure))
            return false;
        *ret_used_rows |= UINT64_C(1) << (row - rows);
    }
}

static bool check_rows(const struct options *options, uint64_t used_rows, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((used_rows & (UINT64_C(1) << i)) && !(rows[i].commands & FOR(options->command)))
            return failure_usage(failure, "--%s does not belong to this command", rows[i].name);
    }
    return true;
}

static bool check_words(const struct options *options, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (commands[i].command != options->command)
            continue;
        if (options->word_count < commands[i].words_least)
            return failure_usage(failure, "%s wants more words behind it", commands[i].name);
        if (options->word_count > commands[i].words_most)
            return failure_usage(failure,
                                 "%s takes fewer words (a program's own arguments go behind --)",
                                 commands[i].name);
    }
    if (options->program_argument_count > 0 && options->command != COMMAND_RUN)
        return failure_usage(failure, "%s is for run only", "--");
    return true;
}

bool options_parse(int argc, char **argv, struct options *ret, struct failure *failure)
{
    struct options options = {.tool = "code_execute",
                              .audit = {.max_bytes = AUDIT_MAX_BYTES_DEFAULT}};
    uint64_t used_rows = 0;
    bool parsed = take_all(argc, argv, &options, &used_rows, failure);
    if (parsed && optind < argc) {
        options.program_arguments = argv + optind;
        options.program_argument_count = (size_t)(argc - optind);
    }
    if (parsed && options.command == COMMAND_NONE)
        parsed = failure_usage(failure, "%s", "no command given");
    if (parsed && options.command != COMMAND_HELP && options.command != COMMAND_VERSION)
        parsed = check_rows(&options, used_rows, failure) && check_words(&options, failure);
    *ret = options;
    return parsed;
}

static void clear_pairs(struct name_value *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(pairs[i].name);
}

void options_clear(struct options *options)
{
    clear_pairs(options->secrets, options->secret_count);
    clear_pairs(options->environment, options->environment_count);
    clear_pairs(options->used_secrets, options->used_secret_count);
    *options = (struct options){0};
}
