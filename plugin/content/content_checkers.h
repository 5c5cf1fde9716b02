/* SPDX-License-Identifier: Apache-2.0 */
/* The checkers that content_check() asks; each adds its findings to call->content. Inner to the
 * content checks. */
#pragma once

#include "call/call.h"
#include "content/content.h"
#include "json/json_place.h"

/* By the syntax tree, in a sandbox of its own. */
struct content_answer content_check_python(struct call *call, const struct content_rules *rules,
                                           struct error *error);
/* The gateway's callback. */
struct content_answer content_ask_host(struct call *call, struct error *error);
/* The operator's command. */
struct content_answer content_ask_command(struct call *call, struct error *error);

#define CONTENT_ANSWER_LIMIT 65536     /* bytes */
#define CONTENT_PLACE_LIMIT  INT32_MAX /* lines and columns */

/* Takes the findings of a valid answer; any other is a check that failed. */
struct content_answer content_outside_answer(struct call *call, const char *who, const char *text,
                                             size_t length, struct error *error);

/* Verdicts of a check that did not take place. who: whose check, NULL of ours. */
struct content_answer content_failed(const char *who, const char *why);
struct content_answer content_out_of_memory(struct error *error);

/* A checker that is a program, and the run of it. All borrowed. */
struct content_program {
    const char *who; /* as above */
    const struct run_description *description;
    enum sandbox_mode mode;
    int input;                              /* its standard input */
    const struct policy_language *language; /* for the words of a failure; may be NULL */
    const char *image;                      /* likewise */
};

/* Its output, new, and *ret is CONTENT_READ; else NULL, and *ret is the verdict. */
char *content_run_program(const struct call *call, const struct content_program *program,
                          size_t *ret_length, struct content_answer *ret, struct error *error);

/* Members of an answer, which is a stranger's text and is shown to the approver. */
bool content_read_number(const struct json_place *place, const json_t *object, const char *name,
                         int64_t minimum, int64_t maximum, uint32_t *ret);
bool content_read_text(const struct json_place *place, const json_t *object, const char *name,
                       size_t limit, const char **ret);

/* The mode in which a program's text is read: never none. */
enum sandbox_mode content_checking_mode(enum sandbox_mode mode);
/* A description that runs a program of ours as the language's, in the sandbox that the call's would
 * get, without network, workspace and anything else of the request, with room for that many files.
 * false when out of memory; the caller frees *ret either way. */
bool content_plan_check(const struct call *call, size_t file_limit, struct run_description *ret);
/* A description of a command of the operator's, without a sandbox, for process mode's backend.
 * false when out of memory; the caller frees *ret either way. */
bool content_plan_command(const struct call *call, struct run_description *ret);
