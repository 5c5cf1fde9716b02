/* SPDX-License-Identifier: Apache-2.0 */
/* The checkers that content_check() asks; each adds its findings to call->content. Inner to the
 * content checks. */
#pragma once

#include "call/call.h"
#include "content/content.h"
#include "json/json_members.h"

/* By the syntax tree, in a sandbox of its own. */
struct content_answer content_check_python(struct call *call, const struct content_rules *rules,
                                           struct error *error);
/* The gateway's callback. */
struct content_answer content_ask_host(struct call *call, struct error *error);
/* The operator's command. */
struct content_answer content_ask_command(struct call *call, struct error *error);

#define CONTENT_ANSWER_LIMIT 65536     /* bytes */
#define CONTENT_PLACE_LIMIT  INT32_MAX /* lines and columns */

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

/* The answer of a checker as it is read; its members' tables are of this struct. */
struct content_reading {
    struct call *call;
    const char *who;       /* as above */
    const uint32_t *files; /* of our checker: the numbers of its inputs */
    size_t file_count;
    struct content_finding finding; /* the one that is being read */
    const char *rule;
    const char *text;
    uint32_t more;
    struct content_answer answer;
};

typedef bool content_reader(const struct json_place *place, json_t *value,
                            struct content_reading *reading);

/* Reads an answer, which is a stranger's text and is shown to the approver, and takes the findings
 * of a valid one; any other is a check that failed. */
struct content_answer content_take_answer(struct content_reading *reading, const char *text,
                                          size_t length, content_reader *read, struct error *error);
/* Reads the findings, each into reading->finding by read, and adds them to those of the call. */
bool content_read_findings(const struct json_place *place, json_t *value,
                           struct content_reading *reading, content_reader *read);
/* The answer of a checker of the gateway or the operator. */
struct content_answer content_outside_answer(struct call *call, const char *who, const char *text,
                                             size_t length, struct error *error);

/* Rows of the place of a finding. */
#define CONTENT_AT(member) .offset = offsetof(struct content_reading, member)
#define CONTENT_LINE                                                             \
    {                                                                            \
        "line", &member_uint32, CONTENT_AT(finding.line), 1, CONTENT_PLACE_LIMIT \
    }
#define CONTENT_COLUMN                                                               \
    {                                                                                \
        "column", &member_uint32, CONTENT_AT(finding.column), 1, CONTENT_PLACE_LIMIT \
    }

/* The mode in which a program's text is read: never none. */
enum sandbox_mode content_checking_mode(enum sandbox_mode mode);
/* A description that runs a program of ours as the language's, in the sandbox that the call's would
 * get, without network, workspace and anything else of the request, with room for that many files.
 * false when out of memory; the caller frees *ret either way. */
bool content_plan_check(const struct call *call, size_t file_limit, struct run_description *ret);
/* A description of a command of the operator's, without a sandbox, for process mode's backend.
 * false when out of memory; the caller frees *ret either way. */
bool content_plan_command(const struct call *call, struct run_description *ret);
