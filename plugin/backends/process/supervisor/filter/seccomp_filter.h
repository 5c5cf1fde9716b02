/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters of process mode, made once from the rules that the program carries, which
 * are compiled at build from policies/seccomp/calls.json (scripts/generate/compile-seccomp-list).
 * Two are stacked on each run (seccomp(2): the strictest verdict counts): the list says which calls
 * exist, the guard takes away by argument. libseccomp cannot say "this call, but not with that
 * argument" in a filter that refuses by default.
 *
 * A call of the list's "kill" groups is held by the kernel and told to pid 1 of the sandbox
 * (main_program.c), which ends the run and can name the call. It is never let through: without a
 * listener the kernel answers ENOSYS (seccomp_unotify(2)).
 */
#pragma once

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/process/messages/seccomp_program.h"

#define SECCOMP_RULE_TESTS 4

/* Bits of a rule's filters. */
enum seccomp_filter_kind {
    SECCOMP_IN_LIST = 1,
    SECCOMP_IN_LIST_WITH_ATTRIBUTES = 2,
    SECCOMP_IN_GUARD = 4, /* of runs without a network */
    SECCOMP_IN_GUARD_WITH_NETWORK = 8,
    SECCOMP_IN_GUARD_UNPRIVILEGED = 16,
    SECCOMP_IN_GUARD_WITH_ENDPOINTS = 32,
};

struct seccomp_rule {
    const char *group; /* its name in the list */
    const char *call;
    int number; /* of a call that libseccomp 2.5.4 does not know by name, alike everywhere; or -1 */
    unsigned int filters;
    uint32_t action;                               /* SCMP_ACT_* */
    unsigned int test_count;                       /* 0: whatever the arguments are */
    struct scmp_arg_cmp tests[SECCOMP_RULE_TESTS]; /* all must hold */
};

extern const struct seccomp_rule seccomp_rules[];
extern const size_t seccomp_rule_count;

/* Makes the filters. 0; or -1 with errno, and *ret is empty: every sandboxed run is then refused.
 * Runs in the supervisor at its start. The programs live as long as the process. */
int seccomp_filters_make(struct seccomp_filters *ret);

/* 0, also for a call that this architecture does not have, which then stays refused; or what
 * seccomp_rule_add(3) answers. */
int seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule);

/* The name of a system call of this machine, for people: "number N" for one that libseccomp does
 * not know. */
void system_call_name(int number, char *ret, size_t size);
