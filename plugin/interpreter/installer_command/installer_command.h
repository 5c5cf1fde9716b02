/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands pip, npm and others of a run that has no network and no endpoints. What would
 * install something says what is there, which environments a request can name, and whom to ask;
 * everything else is passed on to the machine's own command, where there is one. It decides
 * nothing: the run has no network whether its program asks this command or another one. Runs as a
 * process of the program, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Lines "NAME (language): description" of the environments that a request can name. */
#define PACKAGES_VARIABLE "CODE_EXECUTE_PACKAGES"

/* In front of the other words where pip.py has called: the interpreter that would be asked for its
 * module; "": it has none. */
#define FROM_PYTHON "--from-python="

/* The directory: "pip", Python's module "pip.py", and links to the first, sorted by name. */
#define INSTALLER_NAMES "conda", "npm", "npx", "pip", "pip.py", "pip3", "pnpm", "uv", "yarn"

/* name: by which a program was started. Is it one of these commands? */
bool installer_command_is(const char *name);
/* The whole main program; the exit status. */
int installer_command(int count, char **words);

/* The parts below are for the files of this folder. */

enum installer_kind { INSTALLS_PYTHON, INSTALLS_JAVASCRIPT };

struct installer {
    const char *name;
    enum installer_kind kind;
    const char *verbs; /* that install or search, each with a space on both sides; of two words
                          "first:second" */
    bool always;       /* installs whatever its first word is */
    bool is_pip;
    bool without_word; /* installs without any word, too */
};

/* NULL: there is none of that name. */
const struct installer *installer_find(const char *name);
/* Would these words install, or search for, something? *ret_wanted: those behind the verb,
 * borrowed, with NULL at the end. count > 0. */
bool installer_installs(const struct installer *installer, int count, char *const *words,
                        char *const **ret_wanted);

struct installer_request {
    const struct installer *installer;
    char *const *wanted; /* words behind the verb, with NULL at the end */
    bool installs;       /* else it would do something that only the command itself can */
    bool has_own;        /* the machine has that */
};

enum installer_verdict {
    INSTALLER_REFUSES,     /* something is not there */
    INSTALLER_CANNOT_TELL, /* all is there, in versions that may not be those that are wanted */
    INSTALLER_SATISFIED,   /* nothing is to be done */
};

/* Of Python packages by name alone, or with a version, and nothing else. */
enum installer_verdict installer_judge(const struct installer_request *request);
/* On standard output, what of the wanted is there. */
void installer_tell_satisfied(const struct installer_request *request);
/* On standard error. */
void installer_explain(const struct installer_request *request);
