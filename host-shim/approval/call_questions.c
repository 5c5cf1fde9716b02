/* SPDX-License-Identifier: Apache-2.0 */
/* Asks about the calls of a running program. See call_questions.h for the threads. */
#include "approval/call_questions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/event.h"
#include "base/json.h"
#include "base/signal_mask.h"

struct call_question {
    struct call_question *next;
    uint64_t token;
    uint64_t deadline; /* the provider has answered its program by then */
    json_t *request;
};

static void free_question(struct call_question *question)
{
    json_decref(question->request);
    free(question);
}

void call_questions_init(struct call_questions *ret, call_question_fn *decide, void *user,
                         tool_reply_approval_fn reply)
{
    *ret = (struct call_questions){
        .decide = decide,
        .user = user,
        .reply = reply,
        .over_fd = -1,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
}

/* NULL: the run is over. */
static struct call_question *take_question(struct call_questions *questions)
{
    (void)pthread_mutex_lock(&questions->lock);
    while (!questions->first && !questions->is_over)
        (void)pthread_cond_wait(&questions->changed, &questions->lock);
    struct call_question *question = questions->is_over ? NULL : questions->first;
    if (question)
        questions->first = question->next;
    (void)pthread_mutex_unlock(&questions->lock);
    return question;
}

/* What else a program has called since is a reason to ask anew: it may have read what it sends. */
static const json_t *called_before(const json_t *request)
{
    return json_object_get(request, "called_before");
}

static bool same_json(const json_t *left, const json_t *right)
{
    return left && right ? json_equal(left, right) : left == right;
}

/* An answer for all calls of the tool holds for the questions that were waiting behind it. */
static bool is_allowed(const struct call_questions *questions, const json_t *request,
                       struct approval_decision *ret)
{
    const char *tool = json_member_string(request, "tool", "");
    const json_t *allowed = json_object_get(questions->allowed, tool);
    if (!allowed || !approval_offers(request, APPROVAL_WORD_ALLOW_RUN) ||
        !same_json(called_before(allowed), called_before(request)))
        return false;
    (void)snprintf(ret->approver, sizeof(ret->approver), "%s",
                   json_member_string(allowed, "approver", ""));
    approval_allow(ret, APPROVAL_WORD_ALLOW_RUN, "");
    return true;
}

/* The approver sees how much of the time is left after the questions before this one. */
static bool put_question(struct call_questions *questions, const struct call_question *question,
                         struct approval_decision *ret)
{
    json_int_t left = deadline_poll_timeout(question->deadline);
    if (left == 0)
        return false;
    (void)json_object_set_new(question->request, "expires_in_ms", json_integer(left));
    CLEANUP_FREE char *text = json_compact(question->request);
    const struct approval_question asked = {
        .request = question->request, .request_json = text, .cancelled_fd = questions->over_fd};
    if (text)
        questions->decide(questions->user, &asked, ret);
    return text != NULL;
}

/* A call whose time is over is the provider's own error. */
static void answer_question(struct call_questions *questions, const struct call_question *question)
{
    CLEANUP(approval_clear) struct approval_decision decision = {.approver = "toolhost"};
    approval_deny(&decision, "not decided");
    if (!is_allowed(questions, question->request, &decision) &&
        !put_question(questions, question, &decision))
        return;
    if (decision.word == APPROVAL_WORD_ALLOW_RUN)
        (void)json_object_set_new(questions->allowed,
                                  json_member_string(question->request, "tool", ""),
                                  json_pack("{s:s, s:O*}", "approver", decision.approver,
                                            "called_before", called_before(question->request)));
    CLEANUP_FREE char *text = approval_decision_text(&decision, question->request);
    if (text)
        (void)questions->reply(question->token, text);
}

static void *ask_all(void *argument)
{
    struct call_questions *questions = argument;
    struct call_question *question = NULL;
    while ((question = take_question(questions)) != NULL) {
        answer_question(questions, question);
        free_question(question);
    }
    return NULL;
}

static bool start_thread(struct call_questions *questions)
{
    if (questions->has_thread)
        return true;
    if (questions->over_fd < 0)
        questions->over_fd = event_new();
    if (!questions->allowed)
        questions->allowed = json_object();
    questions->has_thread =
        questions->over_fd >= 0 && questions->allowed &&
        thread_start_without_signals(&questions->thread, ask_all, questions) == 0;
    return questions->has_thread;
}

bool call_questions_add(struct call_questions *questions, uint64_t token, const char *request_json)
{
    json_auto_t *request = json_loads(request_json, JSON_REJECT_DUPLICATES, NULL);
    struct call_question *question =
        json_is_object(request) && start_thread(questions) ? calloc(1, sizeof(*question)) : NULL;
    if (!question)
        return false;
    *question = (struct call_question){
        .token = token,
        .deadline = monotonic_ms() + (uint64_t)approval_wait_ms(request),
        .request = TAKE_POINTER(request),
    };
    (void)pthread_mutex_lock(&questions->lock);
    struct call_question **end = &questions->first;
    while (*end)
        end = &(*end)->next;
    *end = question;
    (void)pthread_cond_signal(&questions->changed);
    (void)pthread_mutex_unlock(&questions->lock);
    return true;
}

void call_questions_end(struct call_questions *questions)
{
    if (questions->has_thread) {
        (void)pthread_mutex_lock(&questions->lock);
        questions->is_over = true;
        (void)pthread_cond_signal(&questions->changed);
        (void)pthread_mutex_unlock(&questions->lock);
        event_set(questions->over_fd);
        (void)pthread_join(questions->thread, NULL);
    }
    while (questions->first) {
        struct call_question *next = questions->first->next;
        free_question(questions->first);
        questions->first = next;
    }
    json_decref(questions->allowed);
    close_fd(questions->over_fd);
    (void)pthread_mutex_destroy(&questions->lock);
    (void)pthread_cond_destroy(&questions->changed);
}
