/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about the calls that a running program makes. A thread of their own puts them to the
 * approver, one after the other: the thread inside tool_invoke() serves the run meanwhile. Added to
 * on that thread. One for each run; it must stay where it is.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "approval/approval.h"
#include "tool_provider.h"

/* Asks the approver, on the thread of the questions; question->cancelled_fd becomes readable when
 * the run is over. *ret denies before. */
typedef void call_question_fn(void *user, const struct approval_question *question,
                              struct approval_decision *ret);

struct call_questions {
    call_question_fn *decide;
    void *user;
    tool_reply_approval_fn reply;
    pthread_t thread;
    bool has_thread; /* from the first question on */
    int over_fd;
    json_t *allowed; /* of the thread: by the tool, who has allowed all its calls of this run, and
                        which tools had been called before */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    struct call_question *first;
    bool is_over;
};

void call_questions_init(struct call_questions *ret, call_question_fn *decide, void *user,
                         tool_reply_approval_fn reply);
/* Has the question asked; the provider gets the answer by its reply function. false: it cannot be
 * asked, and nothing will be replied. */
bool call_questions_add(struct call_questions *questions, uint64_t token, const char *request_json);
/* After tool_invoke(): gives up what is not answered, and waits for the thread. */
void call_questions_end(struct call_questions *questions);
