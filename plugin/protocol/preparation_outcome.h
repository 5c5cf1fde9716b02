/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of preparing an interpreter for runs, and the reason why it is not copied for them.
 * Between backend and plugin it goes as a number with a detail; an interpreter tells its supervisor
 * the name. Pure code, any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* X(constant, name) - the name is what tool_prepare() answers as "code". */
#define PREPARATION_OUTCOMES(X)                                                                 \
    X(NONE, "not_prepared")                    /* nothing is kept ready for such a run */       \
    X(OPEN, "not_known_yet")                   /* it is still being found out */                \
    X(COPIED, "copied")                        /* runs get copies */                            \
    X(COPIED_WITHOUT, "generators_not_seeded") /* copies without the modules of the detail */   \
    /* It is started in each sandbox, ... */                                                    \
    X(BY_POLICY, "fork_off")                   /* as the policy wants it */                     \
    X(HOME_ON_HOST, "home_on_host")            /* the sandbox' working directory: its path */   \
    X(OWNED_BY_PROGRAM, "outer_uids_missing")  /* a program could change what it executes */    \
    X(VARIABLE, "variable_not_known")          /* its name */                                   \
    X(PATH, "path_not_trusted")                /* others can change it: its path */             \
    X(NO_PROGRAM, "not_a_program")             /* a script in its place: its path */            \
    X(OTHER_PROGRAM, "other_program_in_path")  /* PATH leads to another one: its path */        \
    X(THREADS, "more_than_one_thread")         /* after its imports */                          \
    X(MODULE, "module_not_trusted")            /* imported from elsewhere: name and path */     \
    X(GENERATORS, "own_generators_not_seeded") /* of what it imports at its own start */        \
    X(TWIN, "second_import_failed")            /* which tells the seeded from the unseeded */   \
    X(MODULES_DO_MORE, "modules_do_more")      /* than to be imported: which, and what */       \
    X(FILE_READ, "file_not_trusted")           /* read at import, others can change it: path */ \
    X(TRIAL, "trial_failed")                   /* of the named modules: there was no report */  \
    /* It is not started before the program is: ... */                                          \
    X(NO_FILES, "files_missing") /* our part of it is not installed */                          \
    X(FAILED, "start_failed")    /* it ended again and again */

enum preparation_kind {
#define X(constant, name) PREPARATION_##constant,
    PREPARATION_OUTCOMES(X)
#undef X
        PREPARATION_COUNT
};

#define PREPARATION_DETAIL 256

struct preparation_outcome {
    uint32_t kind; /* enum preparation_kind */
    char detail[PREPARATION_DETAIL];
};

/* kind < PREPARATION_COUNT */
const char *preparation_name(enum preparation_kind kind);

/* The detail is cut where it is too long. */
void preparation_set(struct preparation_outcome *outcome, enum preparation_kind kind,
                     const char *detail);

#define PREPARATION_WORDS (PREPARATION_DETAIL + 64) /* bytes */

/* An interpreter's report: a byte, and "NAME DETAIL". Returns the length. */
size_t preparation_write(char first, enum preparation_kind kind, const char *detail,
                         char ret[PREPARATION_WORDS]);
/* "NAME DETAIL", of an interpreter. A name that is none counts as FAILED. */
void preparation_read(const char *text, size_t length, struct preparation_outcome *ret);
