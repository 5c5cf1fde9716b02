/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines. Main thread. */
#include "cli/terminal/typed_lines.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/end_signal.h"
#include "base/event.h"
#include "base/write_fully.h"

#define LINE_LIMIT (1u << 20) /* bytes */
#define READ_SIZE  65536u

bool typed_lines_open(struct typed_lines *ret, int signal_fd, struct failure *failure)
{
    int in = console_take_stdin();
    if (in < 0)
        return failure_set_errno(failure, "internal", errno, "standard input cannot be used");
    *ret = (struct typed_lines){.in = in,
                                .signal_fd = signal_fd,
                                .has_person = isatty(in) == 1,
                                .reader = {.limit = LINE_LIMIT}};
    ret->editor = ret->has_person ? terminal_editor_open(in, signal_fd) : NULL;
    return true;
}

void typed_lines_close(struct typed_lines *lines)
{
    if (!lines->reader.limit)
        return;
    terminal_editor_close(lines->editor);
    line_reader_clear(&lines->reader);
    close_fd(lines->in);
    *lines = (struct typed_lines){0};
}

/* What a signal means where no call is under way. A program that writes our input has nothing to
 * drop, so an interrupt ends toolhost. */
static enum typed_line take_signal(struct typed_lines *lines)
{
    event_clear(lines->signal_fd);
    return lines->has_person && !end_signal_is_final() ? TYPED_INTERRUPT : TYPED_SIGNAL;
}

/* A last line may have no break. */
static bool end_reader(struct typed_lines *lines)
{
    lines->has_ended = true;
    return lines->reader.length > lines->reader.taken && line_reader_add(&lines->reader, "\n", 1);
}

/* TYPED_LINE: some of it is there. */
static enum typed_line read_more(struct typed_lines *lines)
{
    char bytes[READ_SIZE];
    struct pollfd events[] = {{.fd = lines->in, .events = POLLIN},
                              {.fd = lines->signal_fd, .events = POLLIN}};
    if (lines->has_ended)
        return TYPED_END;
    while (poll(events, COUNT_OF(events), -1) < 0)
        if (errno != EINTR)
            return TYPED_END;
    if (events[1].revents)
        return take_signal(lines);
    ssize_t got = read(lines->in, bytes, sizeof(bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return TYPED_LINE;
    if (got <= 0)
        return end_reader(lines) ? TYPED_LINE : TYPED_END;
    return line_reader_add(&lines->reader, bytes, (size_t)got) ? TYPED_LINE : TYPED_END;
}

static enum typed_line next_plain(struct typed_lines *lines, const char *prompt,
                                  const char **ret_line, size_t *ret_length)
{
    if (lines->has_person)
        (void)write_fully(STDERR_FILENO, prompt, strlen(prompt));
    for (;;) {
        enum line_event event = line_reader_next(&lines->reader, ret_line, ret_length);
        if (event != LINE_NONE)
            return event == LINE_READY ? TYPED_LINE : TYPED_TOO_LONG;
        enum typed_line more = read_more(lines);
        if (more == TYPED_LINE)
            continue;
        if (lines->has_person)
            (void)write_fully(STDERR_FILENO, "\n", 1);
        return more;
    }
}

enum typed_line typed_lines_next(struct typed_lines *lines, const char *prompt,
                                 const char **ret_line, size_t *ret_length)
{
    if (!lines->editor)
        return next_plain(lines, prompt, ret_line, ret_length);
    switch (terminal_editor_read(lines->editor, prompt, ret_line, ret_length)) {
    case EDITED_LINE:
        return *ret_length > LINE_LIMIT ? TYPED_TOO_LONG : TYPED_LINE;
    case EDITED_SIGNAL:
        return take_signal(lines);
    case EDITED_END:
        break;
    }
    return TYPED_END;
}
