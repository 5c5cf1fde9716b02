/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a run, or an interpreter ahead of it: finding it and starting it. Its standard
 * streams are pipes of the guest's, so it never holds a descriptor of the attached connection. Runs
 * in the guest.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/messages/guest_protocol.h"
#include "protocol/run_description.h"

enum { PROGRAM_STDOUT, PROGRAM_STDERR, PROGRAM_RESULTS, PROGRAM_OUTPUTS };

struct guest_program {
    pid_t pid;
    int outputs[PROGRAM_OUTPUTS]; /* the guest's ends, non-blocking; -1: it has none */
};

/* Where the guest's descriptors begin: those below are an interpreter's own (guest_protocol.h). */
#define GUEST_INHERITED 3

/* A script of ours that Node loads: below its results and the answers of tools, out of the way of
 * its own files. */
#define PROGRAM_SCRIPT_FD (RUN_RESULTS_FD - 2)
/* And what of ours it loads for a session. */
#define PROGRAM_ADDON_FD (RUN_RESULTS_FD - 3)

/* How a program is started. All borrowed. */
struct program_order {
    const char *path; /* of the file to execute */
    char *const *argv;
    char *const *environment;
    int input;            /* becomes its standard input */
    bool has_results;     /* it gets RUN_RESULTS_FD, if it may have so many files */
    const int *inherited; /* GUEST_INHERITED descriptors that it gets from 3 on; NULL: none */
    int script;           /* becomes PROGRAM_SCRIPT_FD; -1: it has none */
    int addon;            /* becomes PROGRAM_ADDON_FD; -1: it has none */
    int tools;            /* becomes RUN_TOOLS_FD; -1: it has none */
    uint64_t file_bytes;  /* of struct guest_run */
};

/* The image's variables without the engine's own, and the given ones in front of them. New list,
 * borrowed strings; NULL with errno. */
char **program_environment(char *const *given);
/* The file that the name stands for: an absolute path, or a file in an absolute directory of the
 * environment's PATH. false: there is none. */
bool program_find(const char *name, char *const *environment, char ret[PATH_MAX]);
/* The run's limit on open files may be lower than the number of the results. Neither has such a run
 * the answers of tools. */
bool program_may_have_results(void);
/* Starts it. Returns when its execve has succeeded; false with errno. */
bool program_start(const struct program_order *order, struct guest_program *ret);

/* The first argument of this program where it is in front of the shell of a session
 * (interpreter/shell/shell.h): the shell's path, its name and its options follow. */
#define START_SHELL "shell"

/* The start of the program that a run names: the search for it, its environment, and what of ours
 * begins it or stands in front of it. */
enum start_outcome {
    START_DONE, /* *ret is the program, but of a trial */
    START_MISSING,
    START_FAILED, /* *ret_problem says why; it lasts until the next start */
};

/* input: the descriptor that becomes its standard input; the caller's. */
enum start_outcome start_program(const struct guest_run *run, int input, struct guest_program *ret,
                                 const char **ret_problem);
