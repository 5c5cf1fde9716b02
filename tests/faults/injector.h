/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails one system call of one process of a backend, once, or kills the process there, as its
 * tracer (ptrace(2)): strace counts the calls of each process apart, so that one of its faults
 * would be several. Tells what the program had around it when it began. Single-threaded; x86-64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum role {
    ROLE_START,      /* the backend until it has said hello */
    ROLE_SUPERVISOR, /* from the order on */
    ROLE_INIT,
    ROLE_GUARDIAN, /* of a sandbox without namespaces */
    ROLE_PAYLOAD,  /* until its execve */
    ROLE_OTHER,
    ROLE_COUNT
};

struct fault {
    enum role role;
    unsigned int index; /* which of its calls that can fail, from 1; 0: none */
    int error;          /* 0: the one that fits the call */
    bool kill;          /* instead: SIGKILL for the process, before the kernel does the call */
    long only;          /* a system call: which of these; 0: of all */
};

/* The program as the kernel shows it to the host, at the end of its execve. */
struct seen {
    bool ran;
    pid_t pid;
    char faults[512]; /* what was missing: "" where all of it was there */
    bool proc;
    bool memory_group;
    bool process_group;
};

/* At the beginning: of which blueprint are the sandboxes (enum run_isolation)? */
void injector_expect(uint32_t isolation);
/* Everything from now on is traced: the next backend, when it is forked. */
void injector_adopt(pid_t pid);
/* The first process of the run that comes is the init. */
void injector_begin(const struct fault *fault, pid_t supervisor);
/* Handles what has stopped; false where there was nothing to do. */
bool injector_serve(void);
/* Of the fault since injector_begin(): hit or not, and the call's number. */
bool injector_hit(long *ret_call);
const struct seen *injector_seen(void);
const char *role_name(enum role role);
