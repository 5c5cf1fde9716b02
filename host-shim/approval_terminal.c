/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the person at the controlling terminal; never standard input, which may be a model's pipe.
 * Only an answer typed after the question counts. On the thread inside tool_invoke().
 */
#include "approval_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "approval_show.h"
#include "cleanup.h"
#include "descriptor_io.h"
#include "monotonic_clock.h"

#define DEFAULT_COLUMNS 80u
#define ROW_LIMIT       60u
#define ANSWER_LIMIT    64u

static const char header[] =
    "\n------------------------------------------------------------------------\n"
    "toolhost: an agent asks to run this\n";
static const char question[] = "Run this? [y/N] ";

static void name_approver(struct approval_decision *decision)
{
    char memory[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(getuid(), &entry, memory, sizeof(memory), &found) == 0 && found)
        (void)snprintf(decision->approver, sizeof(decision->approver), "terminal:%s",
                       found->pw_name);
    else
        (void)snprintf(decision->approver, sizeof(decision->approver), "terminal:%u",
                       (unsigned)getuid());
}

/* A background job that reads from its terminal is stopped, and would then hang for good. */
static int open_terminal(struct approval_decision *decision)
{
    CLEANUP_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        decision->no_approver = true;
        approval_deny(decision, "there is no terminal to ask at");
        return -1;
    }
    if (tcgetpgrp(fd) != getpgrp()) {
        decision->no_approver = true;
        approval_deny(decision, "toolhost runs in the background of its terminal");
        return -1;
    }
    return TAKE_FD(fd);
}

static unsigned terminal_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
}

/* Drawn in memory first, so that the terminal sees one piece. */
static bool draw(int fd, const json_t *request, unsigned row_limit, size_t *ret_hidden)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return false;
    (void)fputs(header, page);
    *ret_hidden = approval_show(page, request, terminal_columns(fd), row_limit);
    if (*ret_hidden > 0)
        (void)fprintf(page, "%zu line%s not shown: answer a to see all\n", *ret_hidden,
                      *ret_hidden == 1 ? " is" : "s are");
    (void)fputs(question, page);
    bool drawn = !ferror(page);
    drawn = fclose(page) == 0 && drawn;
    return drawn && write_fully(fd, text, length);
}

/* Waits until the terminal has something to read. */
static bool wait_for_input(int fd, int cancelled_fd, int64_t deadline,
                           struct approval_decision *decision)
{
    struct pollfd events[] = {{.fd = fd, .events = POLLIN}, {.fd = cancelled_fd, .events = POLLIN}};
    for (;;) {
        int ready = poll(events, COUNT_OF(events), milliseconds_until(deadline));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0) {
            approval_deny(decision, "the terminal cannot be read");
            return false;
        }
        if (events[1].revents) {
            approval_deny(decision, "the call was cancelled");
            return false;
        }
        if (ready == 0) {
            approval_deny(decision, "nobody answered in time");
            return false;
        }
        return true;
    }
}

/* One line without its break. A line that is too long is no answer. */
static bool read_answer(int fd, int cancelled_fd, int64_t deadline, char ret_answer[ANSWER_LIMIT],
                        struct approval_decision *decision)
{
    size_t length = 0;
    for (;;) {
        if (!wait_for_input(fd, cancelled_fd, deadline, decision))
            return false;
        ssize_t got = read(fd, ret_answer + length, ANSWER_LIMIT - 1 - length);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0) {
            approval_deny(decision, "the terminal was closed without an answer");
            return false;
        }
        length += (size_t)got;
        if (ret_answer[length - 1] == '\n') {
            ret_answer[length - 1] = '\0';
            return true;
        }
        if (length == ANSWER_LIMIT - 1) {
            approval_deny(decision, "the answer was not yes");
            return false;
        }
    }
}

static bool is_yes(const char *answer)
{
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static void ask(int fd, const json_t *request, int cancelled_fd, struct approval_decision *decision)
{
    int64_t deadline = monotonic_ms() + approval_wait_ms(request);
    unsigned row_limit = ROW_LIMIT;
    for (;;) {
        size_t hidden = 0;
        (void)tcflush(fd, TCIFLUSH);
        if (!draw(fd, request, row_limit, &hidden)) {
            approval_deny(decision, "the request could not be shown");
            return;
        }
        char answer[ANSWER_LIMIT] = {0};
        if (!read_answer(fd, cancelled_fd, deadline, answer, decision)) {
            (void)write_fully(fd, "\ndenied\n", strlen("\ndenied\n"));
            return;
        }
        if (hidden > 0 && strcasecmp(answer, "a") == 0) {
            row_limit = APPROVAL_SHOW_ALL;
            continue;
        }
        decision->allow = is_yes(answer);
        if (decision->allow)
            decision->reason[0] = '\0';
        else
            approval_deny(decision, "the person at the terminal said no");
        return;
    }
}

void approval_by_terminal(const json_t *request, int cancelled_fd, struct approval_decision *ret)
{
    name_approver(ret);
    CLEANUP_CLOSE int fd = open_terminal(ret);
    if (fd >= 0)
        ask(fd, request, cancelled_fd, ret);
}
