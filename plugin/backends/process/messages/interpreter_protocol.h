/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interpreter that is started ahead of its run finds open, and what one that is copied and
 * the supervisor say to each other. Both sides: interpreter_start.c and supervisor/fork_server/,
 * take_run.c and python/.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

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

/* How a copy asks its init to end the run in place of exit_group(2): the kernel takes a millisecond
 * over the memory of a copy before it tells the parent, and nobody need wait for that. The filter's
 * listener tells the init of the call (the group "exit request" of policies/seccomp/calls.json),
 * which kills the caller and all others and reports the status that was asked for. What a program
 * gains by asking itself is its end. The kernel has had nothing behind the call since Linux 3.1
 * (nfsservctl(2)). */
#define EXIT_REQUEST_CALL SYS_nfsservctl /* (EXIT_REQUEST_WORD, status as of exit(3)) */
#define EXIT_REQUEST_WORD UINT64_C(0x65786974)
