/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file a run executes and with which environment. Runs in the payload, single-threaded,
 * after the view is in place.
 */
#pragma once

#include <limits.h>

#include "backends/process/messages/report.h"
#include "protocol/run_description.h"

#define PROGRAM_ADDED_VARIABLES 4 /* HOME, TMPDIR, USER, PWD where the description has none */

/* Where it works. */
struct program_places {
    const char *home;
    const char *temporary; /* TMPDIR */
};

/* In a sandbox with a file view of its own. */
extern const struct program_places program_mounted_places;

struct program {
    char path[PATH_MAX];
    char **environment;
    char added[PROGRAM_ADDED_VARIABLES][PATH_MAX + 16];
};

/* The file that name stands for in a list of directories. 0, or -1 with errno. */
int program_find_path(const char *name, char *const *directories, char ret[PATH_MAX]);

/* The value of a variable, "NAME=value"; NULL where it has another name. */
const char *program_variable_value(const char *variable, const char *name);
/* The same of the one in the list that has the name; NULL: there is none. */
const char *program_find_variable(char *const *environment, const char *name);

/* Only the environment: the given variables and those that are added for the places. 0, or -1. */
int program_compose_environment(struct program *program, char *const *given,
                                const struct program_places *places);

/* Looks argv[0] up and composes the environment around the places. 0, or -1 with errno: ENOENT
 * where argv[0] is nowhere in the runtime path. The struct points into itself: it must not be
 * moved. */
int program_find(struct program *program, const struct run_description *description,
                 const struct program_places *places);

/* The variables by which the interpreter of the description's preparation.runner finds our scripts
 * in that directory; it takes them away again. None where it is not there. 0, or -1 with errno. */
int program_add_runner(struct program *program, const struct run_description *description,
                       const char *directory);

/* The directory, ahead of those in the program's PATH. 0, or -1 with errno. */
int program_add_directory(struct program *program, const struct run_description *description,
                          const char *directory);

/* The directory of the commands that would install packages, ahead of PATH, and for the Pythons
 * that the program starts ahead of PYTHONPATH, unless the program itself is one without our
 * scripts. Nothing where it is not there. 0, or -1 with errno. */
int program_add_installers(struct program *program, const struct run_description *description,
                           const char *directory);

/* Reports that program_find() has failed, and exits. */
_Noreturn void program_report_missing(int report, const struct run_description *description);

/* Closes every descriptor but 0-2 and the kept ones. 0, or -1 with errno. */
int program_close_other_descriptors(const int *kept, size_t count);

/* Reports readiness to init and supervisor; without them nothing may begin. */
void program_tell_ready(int report_socket, int supervisor, const struct run_limits *limits,
                        const struct isolation_report *isolation);

/* The same, then executes (or, on trial, exits with 0). Makes no other system call than
 * send, execve and exit, all of which the filter allows. */
_Noreturn void program_execute(const struct program *program,
                               const struct run_description *description, int report_socket,
                               int supervisor, const struct isolation_report *isolation);
