/* SPDX-License-Identifier: Apache-2.0 */
/* What content_check() asks: each adds its findings to call->content. Inner to the content checks.
 */
#pragma once

#include "call/call.h"
#include "content/content.h"

/* By the syntax tree, in a sandbox of its own. */
struct content_answer content_check_python(struct call *call, const struct content_rules *rules,
                                           struct error *error);
/* The gateway's callback. */
struct content_answer content_ask_host(struct call *call, struct error *error);
/* The operator's command. */
struct content_answer content_ask_command(struct call *call, struct error *error);

/* What both have in common. */
#define CONTENT_ANSWER_LIMIT 65536 /* bytes */
/* Takes the findings of a valid answer; any other is a check that failed. */
struct content_answer content_outside_answer(struct call *call, const char *who, const char *text,
                                             size_t length, struct error *error);
struct content_answer content_outside_failed(const char *who, const char *why);
struct content_answer content_outside_stopped(struct error *error);

/* The mode in which a program's text is read: never none. */
enum sandbox_mode content_checking_mode(enum sandbox_mode mode);
/* A description that runs a program of ours as the language's, in the sandbox that the call's would
 * get, without network, workspace and anything else of the request, with place for that many files.
 * false when out of memory; what *ret holds is the caller's either way. */
bool content_plan_check(const struct call *call, size_t file_limit, struct run_description *ret);
/* A description of a command of the operator's, without a sandbox, for process mode's backend.
 * false when out of memory; what *ret holds is the caller's either way. */
bool content_plan_command(const struct call *call, struct run_description *ret);
