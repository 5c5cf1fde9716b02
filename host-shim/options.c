/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the command line. A table (option_rows.h) says which options there are and which commands
 * take them, so that an option that would have no effect is refused instead of ignored. Main
 * thread.
 */
#include "options.h"

#include <getopt.h>
#include <string.h>

#include "cleanup.h"
#include "option_rows.h"

/* A leading '-' hands words over in their order, ':' tells a missing value from a bad option. */
static const char letters[] = "-:vl:c:h";

#define WORD     1 /* what getopt_long() returns for a word */
#define ROW_BASE 256

#define OPTIONS_MOST 64u /* bits of used_rows */

static const struct {
    const char *name;
    enum command command;
    size_t words_least, words_most;
    const char *wants; /* which words; NULL: none */
} commands[] = {
    {"manifest", COMMAND_MANIFEST, 0, 0, NULL},
    {"run", COMMAND_RUN, 0, 1, "-c CODE, a FILE or -"},
    {"invoke", COMMAND_INVOKE, 0, 1, "a FILE, or - for standard input"},
    {"doctor", COMMAND_DOCTOR, 0, 0, NULL},
    {"status", COMMAND_STATUS, 0, 0, NULL},
    {"top", COMMAND_TOP, 0, OPTIONS_WORDS, "--metrics FILE..."},
    {"conformance", COMMAND_CONFORMANCE, 1, 1, "the FILE.so of one provider"},
    {"conformance-case", COMMAND_CONFORMANCE_CASE, 2, 2, "FILE.so and a case's name"},
    {"policy", COMMAND_POLICY, 1, 2, "check FILE, or explain --input FILE"},
    {"approvals", COMMAND_APPROVALS, 1, 2, "list, or show, approve, deny or revoke with an ID"},
    {"audit", COMMAND_AUDIT, 1, OPTIONS_WORDS, "verify, show, head or rotate"},
    {"mcp", COMMAND_MCP, 0, 0, NULL},
    {"help", COMMAND_HELP, 0, 0, NULL},
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
    if (choice >= ROW_BASE && choice < ROW_BASE + (int)option_row_count)
        return &option_rows[choice - ROW_BASE];
    for (size_t i = 0; i < option_row_count; i++) {
        if (option_rows[i].letter == choice)
            return &option_rows[i];
    }
    return NULL;
}

static bool take_all(int argc, char **argv, struct options *options, uint64_t *ret_used_rows,
                     struct failure *failure)
{
    struct option long_options[OPTIONS_MOST + 1] = {0};
    if (option_row_count > OPTIONS_MOST)
        return failure_set(failure, "internal", "too many options");
    for (size_t i = 0; i < option_row_count; i++)
        long_options[i] = (struct option){
            option_rows[i].name, option_rows[i].has_value ? required_argument : no_argument, NULL,
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
        if (!row || !row->set(row, options, optarg, failure))
            return false;
        *ret_used_rows |= UINT64_C(1) << (row - option_rows);
    }
}

static bool check_rows(const struct options *options, uint64_t used_rows, struct failure *failure)
{
    for (size_t i = 0; i < option_row_count; i++) {
        if ((used_rows & (UINT64_C(1) << i)) &&
            !(option_rows[i].commands & OPTION_FOR(options->command)))
            return failure_usage(failure, "--%s does not belong to this command",
                                 option_rows[i].name);
    }
    return true;
}

static bool check_words(const struct options *options, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (commands[i].command != options->command)
            continue;
        if (options->word_count > commands[i].words_most)
            return failure_usage(failure, "%s takes no word %s (%s)", commands[i].name,
                                 options->words[commands[i].words_most],
                                 options->command == COMMAND_RUN
                                     ? "a program's own arguments go behind --"
                                     : "its options begin with --");
        if (options->word_count < commands[i].words_least)
            return failure_usage(failure, "%s wants %s", commands[i].name, commands[i].wants);
    }
    if (options->program_argument_count > 0 && options->command != COMMAND_RUN)
        return failure_usage(failure, "%s is for run only", "--");
    return true;
}

static bool check_approver(const struct options *options, struct failure *failure)
{
    if (options->approver.mode == APPROVAL_WEBHOOK && !options->approver.webhook_key)
        return failure_usage(failure, "--approve webhook:%s wants --webhook-key FILE",
                             options->approver.url);
    if (options->elicitation_choice && (options->approver_named || options->no_elicitation))
        return failure_usage(failure, "--elicitation-choice is for approval by the client, which "
                                      "--approve and --no-elicitation switch off");
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
        parsed = check_rows(&options, used_rows, failure) && check_words(&options, failure) &&
                 check_approver(&options, failure);
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
