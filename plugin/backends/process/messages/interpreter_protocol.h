/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interpreter that is started ahead of its run finds open, and what one that is copied and
 * the supervisor say to each other. Both sides: interpreter_start.c and supervisor/fork_server/,
 * run_taker.c and python/fork_server.c.
 */
#pragma once

#include <stdint.h>

/* What an interpreter that is started in a sandbox has open beside 0-2. */
enum interpreter_fd {
    INTERPRETER_FD_SUPERVISOR = 3,
    INTERPRETER_FD_REPORT,
    INTERPRETER_FD_LISTENER,
    INTERPRETER_FD_ISOLATION, /* a pipe with the struct isolation_report of what is applied */
    INTERPRETER_FD_PIPE,      /* the other end of its 1 and 2, so that writing does not fail */
};

/* What one that is to be copied has. */
enum fork_server_fd {
    FORK_SERVER_FD_SUPERVISOR = 3,
    FORK_SERVER_FD_TEMPLATE,
    FORK_SERVER_FD_PIPE, /* the other end of its 1 and 2, so that writing does not fail */
};

/* What one says that tries an import, once, over INTERPRETER_FD_SUPERVISOR: this line, a line
 * "MODULE OUTCOME" for each module, and a line with the path of each other file that was read. */
#define TRIAL_BEGIN  "trial\n"
#define TRIAL_CLEAN  "clean"
#define TRIAL_ABSENT "absent"
#define TRIAL_LIMIT  65536 /* bytes */

/* One byte from one that is to be copied, once, with the outcome behind it: "NAME DETAIL" of
 * preparation_outcome.h, PREPARATION_WORDS at most. */
#define FORK_SERVER_READY   'r'
#define FORK_SERVER_USELESS 'u'

/* One byte to it with the report's descriptor: a copy is wanted. This is the answer, with a pidfd
 * where there is one. */
#define FORK_SERVER_COPY 'c'
struct fork_server_answer {
    int32_t pid; /* in the supervisor's pid namespace; -1 */
    int32_t error_number;
};
