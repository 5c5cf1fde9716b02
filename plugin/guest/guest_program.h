/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and starting the program of a run, or an interpreter ahead of it. Its standard streams
 * are pipes of the guest's, so it never holds a descriptor of the attached connection. Runs in the
 * guest.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PROGRAM_STDOUT, PROGRAM_STDERR, PROGRAM_RESULTS, PROGRAM_OUTPUTS };

struct guest_program {
    pid_t pid;
    int outputs[PROGRAM_OUTPUTS]; /* the guest's ends, non-blocking; -1: it has none */
};

/* Where the guest's descriptors begin: those below are an interpreter's own (guest_protocol.h). */
#define GUEST_INHERITED 3

/* The image's variables without the engine's own, and the given ones in front of them. New list,
 * borrowed strings; NULL with errno. */
char **program_environment(char *const *given);
/* The file that the name stands for: an absolute path, or a file in an absolute directory of the
 * environment's PATH. false: there is none. */
bool program_find(const char *name, char *const *environment, char ret[PATH_MAX]);
/* Starts it with the given standard input, with RUN_RESULTS_FD where it has results (and may have
 * so many files), and where inherited is not NULL with these descriptors from 3 on. Returns when
 * its execve has succeeded; false with errno. */
bool program_start(const char *path, char *const *argv, char *const *environment, int input,
                   bool has_results, const int inherited[GUEST_INHERITED],
                   struct guest_program *ret);
