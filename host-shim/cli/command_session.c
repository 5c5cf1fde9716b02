/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost session: a shell whose inputs are the cells of one session. Main thread, with one more
 * while a cell runs (host/signal_watch.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/end_signal.h"
#include "base/json.h"
#include "base/number.h"
#include "base/text_escape.h"
#include "cli/commands.h"
#include "cli/session_cell.h"
#include "cli/terminal/session_input.h"
#include "formats/run_outcome.h"

struct shell {
    struct session_cells cells;
    struct typed_lines lines;
    const char *rest; /* of the command's line, behind its name; borrowed */
    bool quits;
};

static void shell_clear(struct shell *shell)
{
    typed_lines_close(&shell->lines);
    end_signal_end(); /* a provider that does not end can be ended by a signal */
    session_cells_clear(&shell->cells);
}

/* An action of the session needs a cell, whose code is an empty line: a tool takes no empty code.
 */
#define NO_CODE "\n"
#define BLANKS  " \t\r\n"

static void quit(struct shell *shell)
{
    int exit_status = shell->cells.exit_status;
    shell->quits = true;
    if (shell->cells.id[0])
        session_cells_execute(&shell->cells, NO_CODE, strlen(NO_CODE), "end", 0);
    shell->cells.exit_status = exit_status;
}

/* The number behind the command; 0: none. false: there is something else. */
static bool read_count(const char *rest, uint64_t *ret)
{
    char word[24] = "";
    size_t begin = strspn(rest, BLANKS);
    size_t length = strcspn(rest + begin, BLANKS);
    *ret = 0;
    if (length == 0)
        return true;
    if (length >= sizeof(word) || rest[begin + length + strspn(rest + begin + length, BLANKS)])
        return false;
    memcpy(word, rest + begin, length);
    return number_parse(word, INT64_MAX, ret) && *ret > 0;
}

static void undo(struct shell *shell)
{
    uint64_t count;
    if (!read_count(shell->rest, &count))
        console_print_notice("behind :undo comes how many cells, or nothing");
    else if (shell->cells.id[0])
        session_cells_execute(&shell->cells, NO_CODE, strlen(NO_CODE), "undo", count);
    else
        console_print_notice("there is no session yet");
}

static void fork_session(struct shell *shell)
{
    if (shell->cells.id[0])
        session_cells_execute(&shell->cells, NO_CODE, strlen(NO_CODE), "fork", 0);
    else
        console_print_notice("there is no session yet");
}

/* Expressions that leave no name behind, where the language has such. */
static const struct {
    const char *language, *code;
} listings[] = {
    {"python", "print('\\n'.join(f\"{e.stat(follow_symlinks=False).st_size:>12}  {e.name}{'/' * "
               "e.is_dir()}\" for e in sorted(__import__('os').scandir(__import__('os').path."
               "expanduser('~')), key=lambda e: e.name)) or 'no files')"},
    {"javascript", "console.log(require('fs').readdirSync(require('os').homedir()).join('\\n'))"},
    {"sh", "ls -lA ~"},
    {"bash", "ls -lA ~"},
    {"zsh", "ls -lA ~"},
};

static void list_files(struct shell *shell)
{
    for (size_t i = 0; i < COUNT_OF(listings); i++)
        if (strcmp(listings[i].language, shell->cells.language) == 0) {
            session_cells_execute(&shell->cells, listings[i].code, strlen(listings[i].code), NULL,
                                  0);
            return;
        }
    console_print_notice("toolhost knows no program of this language that lists files");
}

static void write_session(FILE *out, const json_t *cells)
{
    size_t index = 0;
    const json_t *name = NULL;
    (void)fprintf(out, "session  %s\ncells    %lld\ndefined ",
                  json_string_value(json_object_get(cells, "id")),
                  (long long)json_integer_value(json_object_get(cells, "cells")));
    json_array_foreach(json_object_get(cells, "defined"), index, name)
    {
        (void)fputc(' ', out);
        text_escape_write(out, json_string_value(name), json_string_length(name));
    }
    (void)fputc('\n', out);
}

static void print_page(const json_t *shown, void (*write)(FILE *out, const json_t *shown))
{
    struct failure failure;
    if (!console_print_page(STDERR_FILENO, write, shown, &failure))
        console_print_failure(&failure);
}

static void print_session(struct shell *shell)
{
    const json_t *session = session_cells_current(&shell->cells);
    if (session)
        print_page(session, write_session);
    else
        console_print_notice("there is no session: the next input begins one");
}

static void write_list(FILE *out, const json_t *cells)
{
    size_t index = 0;
    const json_t *session = NULL;
    const char *current = json_member_string(cells, "id", "");
    json_array_foreach(json_object_get(cells, "sessions"), index, session)
    {
        const char *id = json_member_string(session, "id", "");
        (void)fprintf(out, "%c %2zu  %s  %lld cells\n", strcmp(id, current) == 0 ? '*' : ' ',
                      index + 1, id, (long long)json_member_integer(session, "cells", 0));
    }
}

static void list_sessions(const struct session_cells *cells)
{
    json_auto_t *shown = json_pack("{s:s, s:O}", "id", cells->id, "sessions", cells->sessions);
    print_page(shown, write_list);
}

/* By its number in the list, or by its id. NULL: there is none. */
static const json_t *find_session(const struct shell *shell)
{
    const json_t *sessions = shell->cells.sessions;
    const char *word = shell->rest + strspn(shell->rest, BLANKS);
    uint64_t number;
    size_t index = 0;
    const json_t *session = NULL;
    if (read_count(shell->rest, &number))
        return json_array_get(sessions, number - 1);
    json_array_foreach(sessions, index, session)
    {
        size_t length = json_string_length(json_object_get(session, "id"));
        if (strncmp(json_member_string(session, "id", ""), word, length) == 0 &&
            !word[length + strspn(word + length, BLANKS)])
            return session;
    }
    return NULL;
}

static void use(struct shell *shell)
{
    if (!shell->rest[strspn(shell->rest, BLANKS)]) {
        list_sessions(&shell->cells);
        return;
    }
    const json_t *session = find_session(shell);
    if (session)
        session_cells_use(&shell->cells, json_member_string(session, "id", ""));
    else
        console_print_notice("there is no such session; :use lists them");
}

static void print_help(struct shell *shell);

static const struct shell_command {
    const char *name, *summary;
    void (*act)(struct shell *shell);
} commands[] = {
    {":help", "show this", print_help},
    {":files", "list the files of the session's home directory (a cell of its own)", list_files},
    {":session",
     "show the session's id, how many cells it has had, and the names they have defined",
     print_session},
    {":undo", "take the last cell back, or the last 3 (:undo 3), where the provider can", undo},
    {":fork", "go on in a copy of the session, where the provider can; the session stays as it is",
     fork_session},
    {":use", "list the sessions that there are, or go on in one of them (:use 1)", use},
    {":quit", "end the session (a cell of its own) and toolhost", quit},
};

static void print_help(struct shell *shell)
{
    (void)shell;
    (void)fputs("An input is one line, and one cell of the session. In Python it goes on to the "
                "next\nempty line where it ends with : \\ ( [ or {, or begins with @.\n",
                stderr);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        (void)fprintf(stderr, "  %-10s%s\n", commands[i].name, commands[i].summary);
    (void)fputs("Ctrl-C interrupts a cell, or drops what was typed. Ctrl-D (the end of the input) "
                "ends\nthe session and toolhost without a further cell.\n",
                stderr);
}

static void act(struct shell *shell, const struct session_input *input)
{
    size_t length = strcspn(input->text, BLANKS);
    shell->rest = input->text + length;
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strlen(commands[i].name) == length &&
            strncmp(commands[i].name, input->text, length) == 0) {
            commands[i].act(shell);
            return;
        }
    console_print_notice("there is no such command; :help lists them");
}

/* The exit status. */
static int serve(struct shell *shell)
{
    CLEANUP(session_input_clear) struct session_input input = {0};
    while (!shell->quits && !shell->cells.is_hopeless) {
        switch (session_input_read(&shell->lines, shell->cells.language, &input)) {
        case SESSION_INPUT_NOTHING:
            break;
        case SESSION_INPUT_COMMAND:
            act(shell, &input);
            break;
        case SESSION_INPUT_CELL:
            session_cells_execute(&shell->cells, input.text, input.length, NULL, 0);
            break;
        case SESSION_INPUT_SIGNAL:
            return EXIT_CANCELLED;
        case SESSION_INPUT_END:
            return shell->cells.exit_status;
        }
        if (end_signal_is_final())
            return EXIT_CANCELLED;
    }
    return shell->cells.exit_status;
}

int command_session(const struct options *options, int out)
{
    struct failure failure;
    CLEANUP(shell_clear) struct shell shell = {0};
    int signal_fd = -1;
    if (end_signal_watch(&signal_fd, &failure) &&
        session_cells_open(options, out, signal_fd, &shell.cells, &failure) &&
        typed_lines_open(&shell.lines, signal_fd, &failure)) {
        if (shell.lines.has_person)
            console_print_notice("a session, one cell an input; :help says more");
        return serve(&shell);
    }
    console_print_failure(&failure);
    return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_NOT_RUN;
}
