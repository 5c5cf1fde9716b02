/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a worker's lines: see journal.h. */
#include "backends/worker/journal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "json/json_text.h"

#define LINE_LIMIT 4096 /* PIPE_BUF: written whole, or not at all */

static int journal_fd = STDERR_FILENO;
static bool is_socket;

/* Other processes share the descriptor that this one was given, so it stays as it is. */
void journal_open(void)
{
    struct stat status;
    if (fstat(STDERR_FILENO, &status) != 0)
        return;
    is_socket = S_ISSOCK(status.st_mode);
    if (!S_ISFIFO(status.st_mode))
        return;
    int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own >= 0)
        journal_fd = own;
}

static void write_line(const char *line, size_t length)
{
    if (is_socket)
        (void)send(journal_fd, line, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    else
        (void)!write(journal_fd, line, length);
}

/* Names and reasons come from other machines. */
static void write_text(struct json_draft *draft, const char *name, const char *text)
{
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *clean =
        utf8_sanitize((const unsigned char *)text, strlen(text), &length, &replaced);
    json_draft_string(draft, name, clean);
}

static void write_time(char text[32])
{
    struct timespec now;
    struct tm date;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &date);
    size_t length = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &date);
    (void)snprintf(text + length, 32 - length, ".%03ldZ", now.tv_nsec / 1000000);
}

void journal_write(const char *event, const struct journal_field *fields)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    char time[32];
    size_t length = 0;
    write_time(time);
    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "time", time);
    json_draft_string(&draft, "event", event);
    for (; fields->name; fields++) {
        if (fields->text && fields->text[0] == '\0')
            continue;
        if (fields->text)
            write_text(&draft, fields->name, fields->text);
        else
            json_draft_integer(&draft, fields->name, fields->number);
    }
    json_draft_close(&draft, '}');
    CLEANUP_FREE char *text = json_draft_take(&draft, &length);
    if (!text || length >= LINE_LIMIT)
        return;
    text[length] = '\n'; /* in the place of the NUL: one write, so that lines stay whole */
    write_line(text, length + 1);
}
