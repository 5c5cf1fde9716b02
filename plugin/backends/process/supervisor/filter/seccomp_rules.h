/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the system call filters, compiled at build from policies/seccomp/calls.json
 * (scripts/compile-seccomp-list).
 */
#pragma once

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

#define SECCOMP_RULE_TESTS 4

/* Bits of a rule's filters. */
enum seccomp_filter_kind {
    SECCOMP_LIST = 1,
    SECCOMP_GUARD = 2, /* of runs without a network */
    SECCOMP_GUARD_WITH_NETWORK = 4,
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

/* 0, also for a call that this architecture does not have, which then stays refused; or what
 * seccomp_rule_add(3) answers. */
int seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule);

/* The name of a system call of this machine, for people: "number N" for one that libseccomp does
 * not know. */
void system_call_name(int number, char *ret, size_t size);
