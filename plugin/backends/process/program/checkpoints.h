/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of a session as its init keeps them (messages/checkpoint_protocol.h), and its
 * branches, whose interpreters sleep as checkpoints. They have the program's uid, so a later cell
 * may kill one, or claim to be one. Such a claim comes too late: at most one is kept for a cell or
 * a branch, and the interpreter makes it between two cells. Runs in the init of a sandbox,
 * single-threaded.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/oom_order.h"
#include "protocol/checkpoint.h"
#include "protocol/session.h"

struct checkpoint {
    pid_t pid;
    int pidfd;     /* of one that is kept: its number may be another's by now */
    int score;     /* sets its oom_score_adj; -1: nothing does */
    uint64_t call; /* the one that it sleeps in; 0: none */
};

/* What leads back from the interpreter of one branch. */
struct checkpoint_list {
    struct checkpoint kept[CHECKPOINTS_MOST + 1]; /* the oldest first */
    size_t count;
    bool is_of_last; /* the newest one was made ahead of the last cell */
};

/* A branch whose interpreter sleeps. */
struct sleeping_branch {
    struct checkpoint tip; /* pid 0: there is none of this number */
    struct checkpoint_list list;
};

struct checkpoints {
    int listener; /* of the program's filter; the owner's */
    int home;     /* as main_program.home */
    pid_t
        interpreter; /* the owner sets it first; 0: it could not be woken, or all branches sleep */
    bool all_sleep;
    struct oom_order order; /* proc is the owner's to set, -1: there is none */
    bool has_order;         /* it is found */
    bool needs_order;       /* the owner's: the kernel ends processes where memory runs out */
    bool is_first;          /* the interpreter is ended ahead of them */
    /* The owner's: there are no namespaces, so it looks at what the interpreter cannot see of
     * itself, and lets checkpoints sleep outside of its listener. */
    bool looks;
    size_t children;             /* that the interpreter says it has with its copy */
    struct checkpoint born;      /* a process that is to be one; pid 0: none */
    size_t limit;                /* of one list */
    struct checkpoint_list list; /* of the interpreter */
    struct sleeping_branch asleep[SESSION_BRANCHES_MOST];
    pid_t waking; /* the one that was told to go on, until it says so; 0: none */
    bool in_cell;
    bool may_come;      /* the cell or the branch to be has not had its checkpoint yet */
    bool is_parking;    /* it is for a branch, of that number */
    uint32_t parked_as; /* then */
    bool has_answer;    /* to that, which nobody has taken yet */
    enum checkpoint_word answer;
    struct checkpoint next;   /* sleeps, and the interpreter has not named it; pid 0: none */
    struct checkpoint made;   /* the interpreter's call, and the pid that it names; call 0: none */
    enum checkpoint_word why; /* it names none */
};

/* None, of no interpreter. */
void checkpoints_init(struct checkpoints *checkpoints);

/* A cell begins, with that many checkpoints at most; it ends. */
void checkpoints_begin_cell(struct checkpoints *checkpoints, size_t limit);
void checkpoints_end_cell(struct checkpoints *checkpoints);

/* Between two cells: the next checkpoint sleeps as that branch, with those that the interpreter
 * has. The interpreter is that of a new branch then, which has none. */
void checkpoints_begin_park(struct checkpoints *checkpoints, uint32_t branch);
/* Once, when it is settled: the word of one that is taken, or why all is as it was. */
bool checkpoints_take_answer(struct checkpoints *checkpoints, enum checkpoint_word *ret);

/* Ends all of them, and the other branches: nothing leads back any more. */
void checkpoints_forget(struct checkpoints *checkpoints);

/* Ends that branch, or with SESSION_BRANCH_AWAKE the interpreter and all that is no checkpoint. */
void checkpoints_drop(struct checkpoints *checkpoints, uint32_t branch);

/* Takes a call that the listener has told of. false: it is none of a checkpoint's. */
bool checkpoints_take_call(struct checkpoints *checkpoints, const struct seccomp_notif *call);

/* Is there one from ahead of the last cells, as many as that? The last one may be under way. */
bool checkpoints_can_restore(const struct checkpoints *checkpoints, size_t cells);

/* Kills every process of the sandbox but the checkpoints of before these cells and the other
 * branches, and wakes the newest of those checkpoints, which is the interpreter from now on. false:
 * it was killed before, or is not to be woken, and the sandbox has no interpreter any more. */
bool checkpoints_restore(struct checkpoints *checkpoints, size_t cells);

/* Is there such a branch, and does its interpreter live? */
bool checkpoints_can_wake(const struct checkpoints *checkpoints, uint32_t branch);
/* The same for a branch: what runs ends, with what leads back from it. */
bool checkpoints_wake(struct checkpoints *checkpoints, uint32_t branch);
