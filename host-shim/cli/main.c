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
#include "options/command_rows.h"
#include "options/options_help.h"

static int print_text(int out, const char *text)
{
    return write_fully(out, text, strlen(text)) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_help(int out, enum command command,
                      void (*write_it)(FILE *out, enum command command))
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return EXIT_FAILURE;
    write_it(page, command);
    return fclose(page) == 0 ? print_text(out, text) : EXIT_FAILURE;
}

/* Of the command that is asked about: toolhost help COMMAND, toolhost COMMAND --help. */
static int help(const struct options *options, int out)
{
    bool by_word = options->command == COMMAND_HELP && options->word_count > 0;
    const struct command_row *row = by_word ? command_row_find(options->words[0]) : NULL;
    enum command command = by_word                            ? COMMAND_NONE
                           : options->command == COMMAND_HELP ? COMMAND_NONE
                                                              : options->command;
    if (by_word && !row) {
        struct failure failure;
        (void)failure_usage(&failure, "unknown command %s", options->words[0]);
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    return print_help(out, row ? row->command : command, options_help_write);
}

static int completion_words(const struct options *options, int out)
{
    const struct command_row *row =
        options->word_count > 0 ? command_row_find(options->words[0]) : NULL;
    return print_help(out, row ? row->command : COMMAND_NONE, options_help_write_words);
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
