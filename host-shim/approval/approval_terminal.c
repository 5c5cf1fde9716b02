/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the person at the controlling terminal; never standard input, which may be a model's pipe.
 * Only an answer typed after the question counts. On the thread inside tool_invoke().
 */
#include "approval/approval.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "approval/approval_edit.h"
#include "approval/approval_grants.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/write_fully.h"

#define DEFAULT_COLUMNS 80u
#define ROW_LIMIT       60u
#define ANSWER_LIMIT    64u

static const char header[] =
    "\n------------------------------------------------------------------------\n";

/* A background job that reads from its terminal is stopped, and would then hang for good. */
static int open_terminal(struct approval_decision *decision)
{
    CLEANUP_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        decision->no_approver = true;
        approval_unavailable(decision, "there is no terminal to ask on");
        return -1;
    }
    if (tcgetpgrp(fd) != getpgrp()) {
        decision->no_approver = true;
        approval_unavailable(decision, "toolhost runs in the background of its terminal");
        return -1;
    }
    return TAKE_FD(fd);
}

static unsigned terminal_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
}

/* Answers beside yes and no, as far as the request offers them. */
static void write_answers(FILE *page, const json_t *request, bool edited)
{
    if (edited)
        (void)fputs("This is the request as you have changed it.\n", page);
    if (!edited && approval_offers(request, APPROVAL_WORD_ALLOW_SESSION))
        (void)fputs("session: yes, and identical requests of this conversation\n", page);
    if (!edited && approval_offers(request, APPROVAL_WORD_ALLOW_ALWAYS))
        (void)fprintf(page, "always:  yes, and identical requests for %u days\n",
                      APPROVAL_GRANT_DAYS);
    if (!edited && approval_offers(request, APPROVAL_WORD_ALLOW_CELLS))
        (void)fputs("cells:   yes, and all further code in this session, which nobody sees before "
                    "it runs, until the session ends\n",
                    page);
    if (approval_offers(request, APPROVAL_WORD_ALLOW_RUN))
        (void)fputs("run:     yes, and all further calls of this tool in this run\n", page);
    if (approval_offers(request, APPROVAL_WORD_EDIT))
        (void)fputs("edit:    change it first\n", page);
    if (approval_offers(request, APPROVAL_WORD_CANCEL))
        (void)fprintf(page, "cancel:  no, and %s\n",
                      approval_is_of_call(request) ? "end the run" : "stop the agent");
}

/* Drawn in memory first, so that the terminal sees one piece. */
static bool draw_request(int fd, const json_t *request, bool edited, unsigned row_limit,
                         size_t *ret_hidden)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return false;
    bool of_call = approval_is_of_call(request);
    (void)fprintf(page, "%stoolhost: %s\n", header,
                  of_call ? "a program that runs asks to call this tool"
                          : "an agent asks to run this");
    *ret_hidden = approval_show(page, request, terminal_columns(fd), row_limit);
    if (*ret_hidden > 0)
        (void)fprintf(page, "%zu line%s not shown: answer a to see all\n", *ret_hidden,
                      *ret_hidden == 1 ? " is" : "s are");
    write_answers(page, request, edited);
    (void)fputs(of_call ? "Call this tool? [y/N] " : "Run this? [y/N] ", page);
    bool drawn = !ferror(page);
    drawn = fclose(page) == 0 && drawn;
    return drawn && write_fully(fd, text, length);
}

/* One line without its break. A line that is too long is no answer. */
static bool read_answer(int fd, int cancelled_fd, uint64_t deadline, char ret_answer[ANSWER_LIMIT],
                        struct approval_decision *decision)
{
    size_t length = 0;
    for (;;) {
        if (!approval_wait(fd, cancelled_fd, deadline, -1, decision))
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

/* One request that is shown, and what it became. */
struct question {
    const json_t *request; /* as the provider asked */
    json_t *arguments;     /* as the person has changed them; NULL: not at all */
    json_t *edited;        /* the request with them; NULL: the same */
    unsigned row_limit;
};

static void question_clear(struct question *asked)
{
    json_decref(asked->arguments);
    json_decref(asked->edited);
}

/* The answers beside yes, no and edit. false: none of them, or it is not offered. */
static bool take_other_answer(const struct question *asked, const char *answer,
                              struct approval_decision *decision)
{
    static const struct {
        const char *answer;
        enum approval_word word;
        bool after_edit;
    } known[] = {{"session", APPROVAL_WORD_ALLOW_SESSION, false},
                 {"always", APPROVAL_WORD_ALLOW_ALWAYS, false},
                 {"cells", APPROVAL_WORD_ALLOW_CELLS, false},
                 {"run", APPROVAL_WORD_ALLOW_RUN, false},
                 {"cancel", APPROVAL_WORD_CANCEL, true}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].answer, answer) != 0 || (asked->arguments && !known[i].after_edit) ||
            !approval_offers(asked->request, known[i].word))
            continue;
        approval_allow(decision, known[i].word,
                       known[i].word == APPROVAL_WORD_CANCEL ? "the user at the terminal cancelled"
                                                             : "");
        return true;
    }
    return false;
}

static void decide_by_answer(struct question *asked, const char *answer,
                             struct approval_decision *decision)
{
    if (take_other_answer(asked, answer, decision))
        return;
    if (!is_yes(answer)) {
        approval_deny(decision, "the user at the terminal said no");
        return;
    }
    approval_allow(decision, asked->arguments ? APPROVAL_WORD_EDIT : APPROVAL_WORD_ALLOW_ONCE, "");
    decision->arguments = TAKE_POINTER(asked->arguments);
}

/* Saving without a change keeps the request. false: asking cannot go on. */
static bool edit_arguments(struct question *asked, int fd, int cancelled_fd, uint64_t deadline,
                           struct approval_decision *decision)
{
    struct failure failure;
    const json_t *before = json_object_get(asked->request, "arguments");
    json_auto_t *arguments = NULL;
    if (!approval_edit(asked->arguments ? asked->arguments : before, fd, cancelled_fd, deadline,
                       &arguments, &failure)) {
        approval_deny(decision, "%s", failure.message);
        return false;
    }
    question_clear(asked);
    asked->edited = NULL;
    asked->arguments = NULL;
    if (json_equal(arguments, before))
        return true;
    asked->edited = approval_edited_request(asked->request, arguments);
    asked->arguments = TAKE_POINTER(arguments);
    if (!asked->edited)
        approval_deny(decision, "the changed request could not be shown");
    return asked->edited != NULL;
}

static bool can_edit(const struct question *asked, const char *answer)
{
    return strcmp(answer, "edit") == 0 && approval_offers(asked->request, APPROVAL_WORD_EDIT) &&
           json_is_object(json_object_get(asked->request, "arguments"));
}

static void ask_at_terminal(int fd, const json_t *request, int cancelled_fd,
                            struct approval_decision *decision)
{
    uint64_t deadline = monotonic_ms() + approval_wait_ms(request);
    CLEANUP(question_clear) struct question asked = {.request = request, .row_limit = ROW_LIMIT};
    for (;;) {
        size_t hidden = 0;
        (void)tcflush(fd, TCIFLUSH);
        if (!draw_request(fd, asked.edited ? asked.edited : request, asked.edited, asked.row_limit,
                          &hidden)) {
            approval_unavailable(decision, "the request could not be shown");
            return;
        }
        char answer[ANSWER_LIMIT] = {0};
        if (!read_answer(fd, cancelled_fd, deadline, answer, decision)) {
            (void)write_fully(fd, "\ndenied\n", strlen("\ndenied\n"));
            return;
        }
        if (hidden > 0 && strcasecmp(answer, "a") == 0) {
            asked.row_limit = APPROVAL_SHOW_ALL;
        } else if (can_edit(&asked, answer)) {
            if (!edit_arguments(&asked, fd, cancelled_fd, deadline, decision))
                return;
        } else {
            decide_by_answer(&asked, answer, decision);
            return;
        }
    }
}

void approval_by_terminal(const struct approval_question *question, struct approval_decision *ret)
{
    approval_name_user("terminal", ret->approver, sizeof(ret->approver));
    CLEANUP_CLOSE int fd = open_terminal(ret);
    if (fd >= 0)
        ask_at_terminal(fd, question->request, question->cancelled_fd, ret);
}
