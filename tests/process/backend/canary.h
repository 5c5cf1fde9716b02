/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attacks aim at, and how it is seen from outside that one has arrived: a file with a random
 * token, listening sockets, a process that holds the token in its environment and its memory. All
 * of it is the test's own. Single-threaded test process.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define CANARY_VARIABLES 9

enum evidence {
    EVIDENCE_WORD = 1 << 0,       /* the program said "reached": only it can know */
    EVIDENCE_TOKEN = 1 << 1,      /* it printed the token */
    EVIDENCE_FILE = 1 << 2,       /* a file was made outside */
    EVIDENCE_CONNECTION = 1 << 3, /* a socket of ours was reached */
    EVIDENCE_DEATH = 1 << 4,      /* the process of ours was killed */
    EVIDENCE_ROOT = 1 << 5,       /* the throwaway root was written to */
};

struct canary {
    char token[33];
    char directory[64];
    int file; /* open on the file with the token */
    int tcp;
    int udp;
    int abstract_socket;
    pid_t target; /* 0 once it is reaped */
    int root;     /* the throwaway root; -1 without one */
    /* "NAME=value" for the program: PATH, DIRECTORY, PORT, UDP_PORT, ABSTRACT, TARGET and ADDRESS
     * (of the token in the target), and PEEK, whom to look at: pid 1 of a sandbox. */
    char variables[CANARY_VARIABLES][128];
};

void canary_plant(struct canary *ret);
/* From now on the target is looked at instead of pid 1. */
void canary_show_target(struct canary *canary);
/* What there is to be seen of that output, and outside. */
unsigned int canary_evidence(struct canary *canary, const char *output);
void canary_clear(struct canary *canary);

/* The body of the target: a program of its own, so that it has an environment of its own. */
int canary_target(void);

/* As root: mounts made from here on are this process's own. */
void canary_own_mounts(void);
/* As root, with mounts of its own: this process's root is a copy of the machine's with directories
 * of its own for "/", "/usr" and "/etc". There is no way back. */
void canary_enter_throwaway_root(struct canary *canary);
