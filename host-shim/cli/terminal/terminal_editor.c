/* SPDX-License-Identifier: Apache-2.0 */
/* Edits lines with libedit. Main thread. */
#include "cli/terminal/terminal_editor.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"

#define HISTORY_LINES 1000

struct terminal_editor {
    int signal_fd;
    const char *prompt;
    bool was_signalled;
    EditLine *editor;
    History *history;
    FILE *in; /* over a descriptor of its own */
};

/* One that can move its cursor. */
static bool is_capable(int in)
{
    const char *kind = getenv("TERM");
    return kind && *kind && strcmp(kind, "dumb") != 0 && isatty(in) && isatty(STDERR_FILENO);
}

static char *prompt_of(EditLine *editor)
{
    static char none[] = "";
    struct terminal_editor *self = NULL;
    char *text = none;
    if (el_get(editor, EL_CLIENTDATA, &self) == 0 && self)
        memcpy(&text, &self->prompt, sizeof(text));
    return text;
}

/* false: a signal has come, or there is no more to read. */
static bool wait_for_byte(struct terminal_editor *self)
{
    struct pollfd events[] = {{.fd = fileno(self->in), .events = POLLIN},
                              {.fd = self->signal_fd, .events = POLLIN}};
    while (poll(events, COUNT_OF(events), -1) < 0)
        if (errno != EINTR)
            return false;
    self->was_signalled = events[1].revents != 0;
    return !self->was_signalled;
}

/* A character, byte by byte: what is typed behind the line is left to whoever reads the terminal
 * next. 1; 0 at the end; -1 for a signal. Bytes that are no character are dropped. */
static int read_character(EditLine *editor, wchar_t *ret)
{
    struct terminal_editor *self = NULL;
    mbstate_t state = {0};
    if (el_get(editor, EL_CLIENTDATA, &self) != 0 || !self)
        return -1;
    for (;;) {
        char byte = '\0';
        if (!wait_for_byte(self))
            return -1;
        ssize_t got = read(fileno(self->in), &byte, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return 0;
        size_t length = mbrtowc(ret, &byte, 1, &state);
        if (length == (size_t)-1)
            state = (mbstate_t){0};
        else if (length != (size_t)-2)
            return 1;
    }
}

static bool begin_history(struct terminal_editor *self)
{
    HistEvent event;
    self->history = history_init();
    return self->history && history(self->history, &event, H_SETSIZE, HISTORY_LINES) == 0 &&
           history(self->history, &event, H_SETUNIQUE, 1) == 0 &&
           el_set(self->editor, EL_HIST, history, self->history) == 0;
}

static bool begin_editing(struct terminal_editor *self)
{
    self->editor = el_init("toolhost", self->in, stderr, stderr);
    return self->editor && el_set(self->editor, EL_CLIENTDATA, self) == 0 &&
           el_set(self->editor, EL_PROMPT, prompt_of) == 0 &&
           el_set(self->editor, EL_EDITOR, "emacs") == 0 &&
           el_set(self->editor, EL_BIND, "^I", "ed-insert", NULL) == 0 &&
           el_set(self->editor, EL_BIND, "^R", "em-inc-search-prev", NULL) == 0 &&
           el_set(self->editor, EL_GETCFN, read_character) == 0 && begin_history(self);
}

/* Of characters alone: numbers are read and written as ever. */
static void take_locale(void)
{
    const char *taken = setlocale(LC_CTYPE, "");
    if (!taken || strcmp(taken, "C") == 0 || strcmp(taken, "POSIX") == 0)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
}

struct terminal_editor *terminal_editor_open(int in, int signal_fd)
{
    struct terminal_editor *self = is_capable(in) ? calloc(1, sizeof(*self)) : NULL;
    if (!self)
        return NULL;
    self->signal_fd = signal_fd;
    int own = fcntl(in, F_DUPFD_CLOEXEC, 3);
    self->in = own >= 0 ? fdopen(own, "r") : NULL;
    if (own >= 0 && !self->in)
        close_fd(own);
    take_locale();
    if (self->in && begin_editing(self)) {
        (void)el_source(self->editor, NULL); /* the person's ~/.editrc */
        return self;
    }
    terminal_editor_close(self);
    return NULL;
}

void terminal_editor_close(struct terminal_editor *self)
{
    if (!self)
        return;
    if (self->editor)
        el_end(self->editor);
    if (self->history)
        history_end(self->history);
    if (self->in)
        (void)fclose(self->in);
    free(self);
}

static void remember(struct terminal_editor *self, const char *line)
{
    HistEvent event;
    if (line[strspn(line, " \t\n")])
        (void)history(self->history, &event, H_ENTER, line);
}

enum edited_line terminal_editor_read(struct terminal_editor *self, const char *prompt,
                                      const char **ret_line, size_t *ret_length)
{
    int length = 0;
    self->prompt = prompt;
    self->was_signalled = false;
    el_resize(self->editor); /* it may have been changed while a cell ran */
    /* el_gets() would do so once the prompt is there: a key that is pressed in between is lost. */
    (void)el_set(self->editor, EL_PREP_TERM, 1);
    const char *line = el_gets(self->editor, &length);
    if (self->was_signalled || !line || length <= 0) {
        (void)fputc('\n', stderr);
        return self->was_signalled ? EDITED_SIGNAL : EDITED_END;
    }
    remember(self, line);
    *ret_line = line;
    *ret_length = (size_t)length - (line[length - 1] == '\n');
    return EDITED_LINE;
}
