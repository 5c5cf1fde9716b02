/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocols of interpreters that are started ahead of their run: the descriptors they have
 * open, the trial of an import, and the requests between the supervisor and an interpreter that is
 * copied. Both sides: interpreter_start.c and supervisor/fork_server/, take_run.c and python/.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#include "protocol/run_event.h"

#define RUN_DIRECTORY_SIZE 256 /* of the path of a sandbox's own directory, where it has one */

/* Descriptors of an interpreter that is started in a sandbox, beside 0-2. */
enum interpreter_fd {
    INTERPRETER_FD_SUPERVISOR = 3,
    INTERPRETER_FD_REPORT,
    INTERPRETER_FD_SANDBOX, /* a pipe with the struct adopted_sandbox */
    INTERPRETER_FD_PIPE,    /* the other end of its 1 and 2, so that writing does not fail */
};

/* What its payload leaves to an interpreter that is started in its sandbox. */
struct adopted_sandbox {
    uint32_t kind;                      /* enum run_isolation */
    char directory[RUN_DIRECTORY_SIZE]; /* as in struct sandbox; "": there is none */
    struct isolation_report isolation;  /* so far */
};

/* Descriptors of an interpreter that is copied. */
enum fork_server_fd {
    FORK_SERVER_FD_SUPERVISOR = 3,
    FORK_SERVER_FD_TEMPLATE,
    FORK_SERVER_FD_PIPE, /* the other end of its 1 and 2, so that writing does not fail */
};

/* The report of a trial import, sent once over INTERPRETER_FD_SUPERVISOR: this line, a line "MODULE
 * OUTCOME" for each module, and a line with the path of each other file that was read. */
#define TRIAL_BEGIN  "trial\n"
#define TRIAL_CLEAN  "clean"
#define TRIAL_ABSENT "absent"
#define TRIAL_LIMIT  65536 /* bytes */

/* An interpreter that is copied sends one of these bytes once, followed by the outcome: "NAME
 * DETAIL" of preparation_outcome.h, PREPARATION_WORDS at most. */
#define FORK_SERVER_READY   'r'
#define FORK_SERVER_USELESS 'u'

/* The supervisor asks for a copy with this message and the descriptor of the copy's report. The
 * answer has a pidfd if there is a copy. */
#define FORK_SERVER_COPY 'c'
struct fork_server_request {
    char word;                          /* FORK_SERVER_COPY */
    char directory[RUN_DIRECTORY_SIZE]; /* of the copy's sandbox; "": it has none */
};
struct fork_server_answer {
    int32_t pid; /* in the supervisor's pid namespace; -1 */
    int32_t error_number;
};

/* A copy asks its init to end the run with this call instead of exit_group(2). The kernel takes a
 * millisecond to free the memory of a copy before it tells the parent, and no caller needs to wait
 * for that. The filter's listener tells the init of the call (the group "exit request" of
 * policies/seccomp/calls.json). The init kills the caller and all others, and reports the status
 * that was asked for. A program that makes the call itself gains nothing but its end. The kernel
 * has implemented nothing under this number since Linux 3.1 (nfsservctl(2)). */
#define EXIT_REQUEST_CALL SYS_nfsservctl /* (EXIT_REQUEST_WORD, status as of exit(3)) */
#define EXIT_REQUEST_WORD UINT64_C(0x65786974)
