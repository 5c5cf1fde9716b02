/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost, the reference host of the tool-provider ABI: reads the command line and hands over to
 * a command. Main thread.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/write_fully.h"
#include "cli/commands.h"
#include "cli/input_members.h"
#include "options/command_rows.h"
#include "options/options_help.h"

static int print_text(int out, const char *text)
{
    return write_fully(out, text, strlen(text)) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_help(int out, enum command command,
                      void (*write_it)(FILE *out, enum command command),
                      const struct options *options)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return EXIT_FAILURE;
    write_it(page, command);
    if (options && (command == COMMAND_RUN || command == COMMAND_SESSION))
        input_members_write_help(page, options);
    return fclose(page) == 0 ? print_text(out, text) : EXIT_FAILURE;
}

/* Of the command that is asked about: toolhost help COMMAND, toolhost COMMAND --help. */
static int help(const struct options *options, int out)
{
    if (options->command != COMMAND_HELP)
        return print_help(out, options->command, options_help_write, options);
    const char *word = options->word_count > 0 ? options->words[0] : NULL;
    const struct command_row *row = word ? command_row_find(word) : NULL;
    if (word && !row) {
        struct failure failure;
        (void)failure_usage(&failure, "unknown command %s", word);
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    return print_help(out, row ? row->command : COMMAND_NONE, options_help_write, options);
}

static int completion_words(const struct options *options, int out)
{
    const struct command_row *row =
        options->word_count > 0 ? command_row_find(options->words[0]) : NULL;
    return print_help(out, row ? row->command : COMMAND_NONE, options_help_write_words, NULL);
}

static int run_command(const struct options *options, int out)
{
    static const struct {
        enum command command;
        int (*run)(const struct options *options, int out);
    } commands[] = {
        {COMMAND_MANIFEST, command_manifest},
        {COMMAND_RUN, command_run},
        {COMMAND_INVOKE, command_invoke},
        {COMMAND_SESSION, command_session},
        {COMMAND_SESSIONS, command_sessions},
        {COMMAND_DOCTOR, command_doctor},
        {COMMAND_ENV, command_env},
        {COMMAND_STATUS, command_status},
        {COMMAND_CONFORMANCE, command_conformance},
        {COMMAND_CONFORMANCE_CASE, command_conformance_case},
        {COMMAND_POLICY, command_policy},
        {COMMAND_APPROVALS, command_approvals},
        {COMMAND_ARTIFACTS, command_artifacts},
        {COMMAND_AUDIT, command_audit},
        {COMMAND_MCP, command_mcp},
        {COMMAND_COMPLETION_WORDS, completion_words},
    };
    if (options->version)
        return print_text(out, "toolhost " TOOLHOST_VERSION "\n");
    for (size_t i = 0; !options->help && i < COUNT_OF(commands); i++)
        if (commands[i].command == options->command)
            return commands[i].run(options, out);
    return help(options, out);
}

int main(int argc, char **argv)
{
    /* One that was inherited as ignored would make every child unwaitable. */
    (void)signal(SIGCHLD, SIG_DFL);
    CLEANUP_CLOSE int out = console_take_stdout();
    struct failure failure;
    CLEANUP(options_clear) struct options options = {0};
    if (out < 0)
        (void)failure_set(&failure, "internal", "the standard streams cannot be used");
    if (out < 0 || !options_parse(argc, argv, &options, &failure)) {
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    return run_command(&options, out);
}
