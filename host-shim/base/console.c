/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of toolhost. Main thread, and the callbacks on it; console_log_notice(): any. */
#include "base/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "base/write_fully.h"

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

void console_print_notice(const char *text)
{
    draw_line(stderr, "toolhost: ", text);
}

/* false: writing would block, as there is no reader. A writable pipe takes PIPE_BUF bytes at once.
 */
static bool write_log(const char *text, size_t length)
{
    for (size_t sent = 0; sent < length;) {
        struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};
        size_t left = length - sent;
        if (poll(&log, 1, 0) != 1 || !(log.revents & POLLOUT))
            return false;
        ssize_t written = write(STDERR_FILENO, text + sent, left < PIPE_BUF ? left : PIPE_BUF);
        if (written < 0 && errno != EINTR)
            return false;
        sent += written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* The line for the log, behind a count of the lines that were lost before it. */
static char *draw_notice(const char *text, unsigned lost)
{
    char *line = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&line, &length);
    if (!page)
        return NULL;
    if (lost > 0)
        (void)fprintf(page, "toolhost: log lines dropped because nobody read them: %u\n", lost);
    draw_line(page, "toolhost: ", text);
    if (fclose(page) == 0)
        return line;
    free(line);
    return NULL;
}

void console_log_notice(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned lost;
    (void)pthread_mutex_lock(&lock);
    CLEANUP_FREE char *line = draw_notice(text, lost);
    lost = line && write_log(line, strlen(line)) ? 0 : lost + 1;
    (void)pthread_mutex_unlock(&lock);
}

char *page_text(page_writer *write, const json_t *value, size_t *ret_length)
{
    CLEANUP_FREE char *text = NULL;
    FILE *page = open_memstream(&text, ret_length);
    if (!page)
        return NULL;
    write(page, value);
    bool whole = !ferror(page);
    return fclose(page) == 0 && whole ? TAKE_POINTER(text) : NULL;
}

bool console_print_page(int out, page_writer *write, const json_t *value, struct failure *failure)
{
    size_t length = 0;
    CLEANUP_FREE char *text = page_text(write, value, &length);
    if (!text)
        return failure_out_of_memory(failure);
    return write_fully(out, text, length) ||
           failure_set(failure, "internal", "cannot write to standard output");
}

bool console_print_json(int out, const json_t *value, struct failure *failure)
{
    CLEANUP_FREE char *text = json_text(value, JSON_INDENT(2));
    if (!text)
        return failure_out_of_memory(failure);
    if (write_fully(out, text, strlen(text)) && write_fully(out, "\n", 1))
        return true;
    return failure_set_errno(failure, "internal", errno, "cannot write to standard output");
}
