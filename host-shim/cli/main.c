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
#include "base/descriptor_io.h"
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
    if (options && command == COMMAND_RUN)
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
    if (options->version)
        return print_text(out, "toolhost " TOOLHOST_VERSION "\n");
    if (options->help)
        return help(options, out);
    switch (options->command) {
    case COMMAND_MANIFEST:
        return command_manifest(options, out);
    case COMMAND_RUN:
        return command_run(options, out);
    case COMMAND_INVOKE:
        return command_invoke(options, out);
    case COMMAND_DOCTOR:
        return command_doctor(options, out);
    case COMMAND_STATUS:
        return command_status(options, out);
    case COMMAND_CONFORMANCE:
        return command_conformance(options, out);
    case COMMAND_CONFORMANCE_CASE:
        return command_conformance_case(options, out);
    case COMMAND_POLICY:
        return command_policy(options, out);
    case COMMAND_APPROVALS:
        return command_approvals(options, out);
    case COMMAND_AUDIT:
        return command_audit(options, out);
    case COMMAND_MCP:
        return command_mcp(options, out);
    case COMMAND_COMPLETION_WORDS:
        return completion_words(options, out);
    case COMMAND_HELP:
    case COMMAND_NONE:
        break;
    }
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
