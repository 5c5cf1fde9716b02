/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the command line. Tables (command_rows.h, option_rows.h) say which commands and options
 * there are and which commands take which, so that an option that would have no effect is refused
 * instead of ignored. Main thread.
 */
#include "options/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "options/command_rows.h"
#include "options/option_rows.h"
#include "options/options_help.h"

#define WORD     1 /* what getopt_long() returns for a word */
#define ROW_BASE 256

#define OPTIONS_MOST 128u
#define LETTERS_SIZE (2 * OPTIONS_MOST + 3)

/* The rows of the options that were given. */
struct used_rows {
    bool is_used[OPTIONS_MOST];
};

static const char *command_at(const void *words, size_t index)
{
    (void)words;
    while (index < command_row_count && command_rows[index].hidden)
        index++; /* they stand at the end */
    return index < command_row_count ? command_rows[index].name : NULL;
}

static const char *action_at(const void *words, size_t index)
{
    const struct command_action *actions = words;
    return actions[index].name;
}

static const char *option_at(const void *words, size_t index)
{
    (void)words;
    return index < option_row_count ? option_rows[index].name : NULL;
}

static bool refuse_word(struct failure *failure, const char *what, const char *word,
                        const char *meant)
{
    (void)failure_usage(failure, "unknown %s %s", what, word);
    if (meant)
        failure_set_hint(failure, "did you mean %s?", meant);
    return false;
}

static bool take_word(struct options *options, const char *word, struct failure *failure)
{
    if (options->command == COMMAND_NONE) {
        const struct command_row *row = command_row_find(word);
        if (!row)
            return refuse_word(failure, "command", word, suggestion_find(word, command_at, NULL));
        options->command = row->command;
        return true;
    }
    if (options->word_count == OPTIONS_WORDS)
        return failure_usage(failure, "too many arguments, from %s on", word);
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

/* A leading '-' hands words over in their order, ':' tells a missing value from a bad option. */
static void list_options(struct option long_options[OPTIONS_MOST + 1], char letters[LETTERS_SIZE])
{
    char *end = stpcpy(letters, "-:");
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        long_options[i] = (struct option){
            row->name, row->argument ? required_argument : no_argument, NULL, ROW_BASE + (int)i};
        if (row->letter) {
            *end++ = (char)row->letter;
            end = stpcpy(end, row->argument ? ":" : "");
        }
    }
    *end = '\0';
}

static bool refuse_option(struct failure *failure, const char *given)
{
    char name[64];
    const char *begin = given + strspn(given, "-");
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "="), begin);
    const char *meant = suggestion_find(name, option_at, NULL);
    (void)failure_usage(failure, "unknown option %s%s (put the program's own arguments after --)",
                        strncmp(given, "--", 2) == 0 ? "--" : "", name[0] ? name : given);
    if (meant)
        failure_set_hint(failure, "did you mean --%s?", meant);
    return false;
}

/* getopt_long() takes --tim for --timeout: what it means tomorrow would be another option's. */
static bool is_abbreviated(const char *given, const struct option_row *row)
{
    size_t length = strlen(row->name);
    return strncmp(given, "--", 2) == 0 &&
           (strncmp(given + 2, row->name, length) != 0 ||
            (given[2 + length] != '\0' && given[2 + length] != '='));
}

/* What getopt_long() did not take: choice is ':' or '?', and row the option that it means. */
static bool refuse_value(int choice, const struct option_row *row, const char *given,
                         const char *last, struct failure *failure)
{
    if (row && is_abbreviated(given, row))
        return refuse_option(failure, given);
    if (choice == ':')
        return failure_usage(failure, "%s needs a value", last);
    return row && !row->argument ? failure_usage(failure, "--%s takes no value", row->name)
                                 : refuse_option(failure, given);
}

static bool take_option(const struct option_row *row, const char *given, struct options *options,
                        struct used_rows *used_rows, struct failure *failure)
{
    if (!row || is_abbreviated(given, row))
        return refuse_option(failure, given);
    if (!row->set(row, options, optarg, failure))
        return false;
    used_rows->is_used[row - option_rows] = true;
    return true;
}

static bool take_all(int argc, char **argv, struct options *options, struct used_rows *used_rows,
                     struct failure *failure)
{
    struct option long_options[OPTIONS_MOST + 1] = {0};
    char letters[LETTERS_SIZE];
    if (option_row_count > OPTIONS_MOST)
        return failure_set(failure, "internal", "too many options");
    list_options(long_options, letters);
    opterr = 0;
    optind = 1;
    for (;;) {
        int at = optind; /* the letter behind another one stands in the same word */
        int choice = getopt_long(argc, argv, letters, long_options, NULL);
        if (choice == -1)
            return true;
        bool taken = false;
        if (choice == ':' || choice == '?')
            taken = refuse_value(choice, optopt ? find_row(optopt) : NULL, argv[at],
                                 argv[optind - 1], failure);
        else if (choice == WORD)
            taken = take_word(options, optarg, failure);
        else
            taken = take_option(find_row(choice), argv[at], options, used_rows, failure);
        if (!taken)
            return false;
    }
}

static bool check_rows(const struct options *options, const struct used_rows *used_rows,
                       struct failure *failure)
{
    const struct command_row *command = command_row_of(options->command);
    for (size_t i = 0; i < option_row_count; i++) {
        if (used_rows->is_used[i] && !(option_rows[i].commands & OPTION_FOR(options->command))) {
            (void)failure_usage(failure, "%s has no option --%s", command->name,
                                option_rows[i].name);
            failure_set_hint(failure, "toolhost %s --help", command->name);
            return false;
        }
    }
    return true;
}

static bool check_action(const struct options *options, const struct command_row *row,
                         struct failure *failure)
{
    char names[128] = "";
    for (const struct command_action *action = row->actions; action->name; action++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s",
                       used == 0        ? ""
                       : action[1].name ? ", "
                                        : " or ",
                       action->name);
        if (options->word_count > 0 && strcmp(action->name, options->words[0]) == 0)
            return true;
    }
    (void)failure_usage(failure, "%s needs %s%s%s", row->name, names,
                        options->word_count > 0 ? ", not " : "",
                        options->word_count > 0 ? options->words[0] : "");
    const char *meant = options->word_count > 0
                            ? suggestion_find(options->words[0], action_at, row->actions)
                            : NULL;
    if (meant)
        failure_set_hint(failure, "did you mean toolhost %s %s?", row->name, meant);
    return false;
}

static bool check_words(const struct options *options, struct failure *failure)
{
    const struct command_row *row = command_row_of(options->command);
    if (row->actions && !check_action(options, row, failure))
        return false;
    if (options->word_count > row->words_most)
        return failure_usage(failure, "%s does not take the argument %s (%s)", row->name,
                             options->words[row->words_most],
                             options->command == COMMAND_RUN
                                 ? "put the program's own arguments after --"
                                 : "its options begin with --");
    if (options->word_count < row->words_least)
        return failure_usage(failure, "%s needs %s", row->name, row->words);
    if (options->program_argument_count > 0 && options->command != COMMAND_RUN)
        return failure_usage(failure, "%s works only with run", "--");
    return true;
}

static bool check_approver(const struct options *options, struct failure *failure)
{
    if (options->approver.mode == APPROVAL_WEBHOOK && !options->approver.webhook_key)
        return failure_usage(failure, "--approve webhook:%s needs --webhook-key FILE",
                             options->approver.target);
    if (options->elicitation_choice && (options->approver_named || options->no_elicitation))
        return failure_usage(failure, "--elicitation-choice is for approval by the client, which "
                                      "--approve and --no-elicitation switch off");
    return true;
}

bool options_parse(int argc, char **argv, struct options *ret, struct failure *failure)
{
    struct options options = {.tool = "code_execute",
                              .audit = {.max_bytes = AUDIT_MAX_BYTES_DEFAULT},
                              .artifacts_max_bytes = ARTIFACT_MAX_BYTES_DEFAULT,
                              .artifacts_age_ms = ARTIFACT_KEPT_MS_DEFAULT};
    struct used_rows used_rows = {0};
    bool parsed = take_all(argc, argv, &options, &used_rows, failure);
    if (parsed && optind < argc) {
        options.program_arguments = argv + optind;
        options.program_argument_count = (size_t)(argc - optind);
    }
    bool asks = options.help || options.version;
    if (parsed && !asks && options.command == COMMAND_NONE)
        parsed = failure_usage(failure, "%s", "no command given");
    if (parsed && !asks)
        parsed = check_rows(&options, &used_rows, failure) && check_words(&options, failure) &&
                 check_approver(&options, failure);
    *ret = options;
    return parsed;
}

static void clear_pairs(struct name_values *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->pairs[i].name);
}

void options_clear(struct options *options)
{
    clear_pairs(&options->secrets);
    clear_pairs(&options->environment);
    clear_pairs(&options->used_secrets);
    clear_pairs(&options->files);
    clear_pairs(&options->settings);
    *options = (struct options){0};
}
