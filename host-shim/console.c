/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of toolhost. Main thread, and the callbacks on it. */
#include "console.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "text_escape.h"

/* Where a standard stream was closed, a file opened later must not land in its place. */
static bool fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}

int console_take_stdout(void)
{
    if (!fill_standard_descriptors())
        return -1;
    CLEANUP_CLOSE int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    return TAKE_FD(fd);
}

int console_take_stdin(void)
{
    CLEANUP_CLOSE int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    CLEANUP_CLOSE int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || none < 0 || dup2(none, STDIN_FILENO) < 0)
        return -1;
    return TAKE_FD(fd);
}

static void draw_line(FILE *page, const char *label, const char *text)
{
    (void)fputs(label, page);
    text_escape_write(page, text, strlen(text));
    (void)fputc('\n', page);
}

void console_print_failure(const struct failure *failure)
{
    (void)fputs("toolhost: ", stderr);
    text_escape_write(stderr, failure->code, strlen(failure->code));
    draw_line(stderr, ": ", failure_after_code(failure->code, failure->message));
    if (failure->hint[0])
        draw_line(stderr, "toolhost: hint: ", failure->hint);
}

void console_draw_notice(FILE *page, const char *text)
{
    draw_line(page, "toolhost: ", text);
}

void console_print_notice(const char *text)
{
    console_draw_notice(stderr, text);
}
