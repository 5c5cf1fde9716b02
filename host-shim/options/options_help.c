/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the tables of commands and options. Any thread. */
#include "options/options_help.h"

#include <string.h>

#include "base/cleanup.h"
#include "options/command_rows.h"
#include "options/option_rows.h"

#define ENTRY_COLUMNS 28u
#define PAGE_COLUMNS  80u

static const char exit_statuses[] =
    "Exit status of run, and of session for its last cell: the program's own; 128+N when signal N "
    "ended it; 124 after a timeout; 125 "
    "when nothing ran; 130 when it was cancelled. Other commands: 0 for success, 1 for failure. "
    "All: 2 for a wrong command line.";

/* Broken at blanks, each line from that column on. columns: how many of the first are taken. */
static void write_text(FILE *out, size_t begin, size_t columns, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " ");
        if (columns > begin && columns + 1 + length > PAGE_COLUMNS) {
            (void)fputc('\n', out);
            columns = 0;
        }
        size_t blanks = columns > begin ? 1 : begin - columns;
        (void)fprintf(out, "%*s%.*s", (int)blanks, "", (int)length, text);
        columns += blanks + length;
        text += length + (text[length] == ' ');
    }
    (void)fputc('\n', out);
}

static void write_entry(FILE *out, const char *name, const char *words, const char *text)
{
    int columns = fprintf(out, "  %s%s%s", name, words && *words ? " " : "", words ? words : "");
    bool fits = columns >= 0 && (size_t)columns + 2 <= ENTRY_COLUMNS;
    if (!fits)
        (void)fputc('\n', out);
    write_text(out, ENTRY_COLUMNS, fits ? (size_t)columns : 0, text);
}

void options_help_write_entry(FILE *out, const char *name, const char *text)
{
    write_entry(out, name, NULL, text);
}

static void write_option(FILE *out, const struct option_row *row)
{
    char name[80];
    (void)snprintf(name, sizeof(name), "%s%.1s%s--%s", row->letter ? "-" : "",
                   row->letter ? (const char[]){(char)row->letter, '\0'} : "",
                   row->letter ? ", " : "", row->name);
    write_entry(out, name, row->argument, row->help);
}

static void write_options(FILE *out, enum command command)
{
    (void)fputs("\nOptions:\n", out);
    for (size_t i = 0; i < option_row_count; i++) {
        if (option_rows[i].commands & OPTION_FOR(command))
            write_option(out, &option_rows[i]);
    }
}

static void write_command(FILE *out, const struct command_row *row)
{
    (void)fprintf(out, "Usage: toolhost %s%s [OPTION]...%s%s\n\n", row->name,
                  row->actions ? " ACTION" : "", row->words ? " " : "",
                  row->words ? row->words : "");
    write_text(out, 0, 0, row->summary);
    if (row->actions)
        (void)fputs("\nActions:\n", out);
    for (const struct command_action *action = row->actions; action && action->name; action++)
        write_entry(out, action->name, action->words, action->summary);
    write_options(out, row->command);
}

static void write_all(FILE *out)
{
    (void)fputs(
        "Usage: toolhost COMMAND [OPTION]...\n\n"
        "Runs the tools of a tool provider (a shared object) with the rights that you grant.\n"
        "\nCommands:\n",
        out);
    for (size_t i = 0; i < command_row_count; i++) {
        if (!command_rows[i].hidden)
            write_entry(out, command_rows[i].name, NULL, command_rows[i].summary);
    }
    write_options(out, COMMAND_NONE);
    (void)fputs("\ntoolhost COMMAND --help shows the options of a command.\n\n", out);
    write_text(out, 0, 0, exit_statuses);
}

void options_help_write(FILE *out, enum command command)
{
    const struct command_row *row = command_row_of(command);
    if (row)
        write_command(out, row);
    else
        write_all(out);
}

static void write_option_words(FILE *out, const struct option_row *row)
{
    const char *kind = !row->argument ? "" : row->completes ? row->completes : "value";
    (void)fprintf(out, "option --%s%s%s\n", row->name, *kind ? " " : "", kind);
    if (row->letter)
        (void)fprintf(out, "option -%c%s%s\n", row->letter, *kind ? " " : "", kind);
}

void options_help_write_words(FILE *out, enum command command)
{
    const struct command_row *row = command_row_of(command);
    for (size_t i = 0; !row && i < command_row_count; i++) {
        if (!command_rows[i].hidden)
            (void)fprintf(out, "command %s\n", command_rows[i].name);
    }
    for (const struct command_action *action = row ? row->actions : NULL; action && action->name;
         action++)
        (void)fprintf(out, "action %s\n", action->name);
    for (size_t i = 0; i < option_row_count; i++) {
        if (option_rows[i].commands & OPTION_FOR(command))
            write_option_words(out, &option_rows[i]);
    }
}
