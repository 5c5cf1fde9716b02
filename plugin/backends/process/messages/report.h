/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the processes of one run. Upwards: struct report, from the payload to its
 * init (or subreaper) until its execve, and from the init to the supervisor. Downwards: struct
 * sandbox_go, which lets a new init go on, and for its payload the run: the isolation_report of the
 * supervisor with the descriptors of enum run_fd from RUN_FD_DESCRIPTION on. Behind it comes, for
 * the init of a run whose files are wanted, one byte SANDBOX_COLLECT with RUN_FD_DESCRIPTION and
 * RUN_FD_FILES; the payload takes one datagram and closes the socket before its program begins, so
 * that this one is the init's. The init of a session gets struct sandbox_order. Each is one
 * datagram on a SOCK_SEQPACKET pair; both ends are the same program, so a struct is sent as it is.
 * The order to end a run is the end of what comes down: shutdown(2) for writing alone. The init
 * then kills the tree and reports as for any end. A socket that is closed wants no report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "protocol/run_description.h"
#include "protocol/run_event.h"

/* The id maps are written. With it come descriptors by which to enter the control groups
 * (cgroup.h): the group with the controller memory first, then the one with pids if it is another
 * group. Behind them comes, where has_intake, the socket that takes the listener of the run's
 * endpoints. */
struct sandbox_go {
    uint32_t has_memory;
    uint32_t has_pids;
    uint32_t group_count;
    uint32_t has_intake;
    uint64_t input_bytes; /* by which the scratch is larger: see sandbox_template.h */
    uint32_t tells_peak;  /* the group with the controller memory tells the highest use */
};

#define SANDBOX_GROUPS  2
#define SANDBOX_GO_FDS  (SANDBOX_GROUPS + 1)
#define SANDBOX_COLLECT 'f'

enum sandbox_order_kind {
    SANDBOX_INTERRUPT = 1, /* SIGINT for its program */
    SANDBOX_STOP,          /* all of its processes, until they are to go on */
    SANDBOX_CONTINUE,
    SANDBOX_CELL,         /* a cell begins, with a checkpoint ahead of it where any is kept */
    SANDBOX_IDLE,         /* it has ended */
    SANDBOX_COLLECT_CELL, /* and its files are wanted: with the descriptors of COLLECT */
    SANDBOX_UNDO,         /* go back to before the last ones: REPORT_RESTORED is the answer */
    SANDBOX_PROGRAM,      /* start another interpreter: with the descriptors of enum run_fd from
                             RUN_FD_DESCRIPTION on, and a memfd with its files (session_program.h);
                             REPORT_PROGRAM is the answer */
    SANDBOX_PARK,         /* a checkpoint that its interpreter makes now sleeps as a branch:
                             REPORT_PARKED is the answer */
    SANDBOX_WAKE,         /* a branch goes on in the place of what runs: REPORT_RESTORED is the
                             answer */
    SANDBOX_DROP,         /* a branch ends */
};

/* To a session. */
struct sandbox_order {
    uint32_t kind;              /* enum sandbox_order_kind */
    uint32_t checkpoints;       /* with CELL: how many are kept */
    uint32_t haste;             /* with COLLECT_CELL: it was ordered to end */
    uint32_t program;           /* with INTERRUPT: the number of its interpreter */
    uint32_t runner;            /* with PROGRAM: enum run_interpreter */
    uint32_t cgroup_has_memory; /* as the session's own isolation_report */
    uint32_t cgroup_has_pids;
    uint32_t cells;  /* with UNDO: how many, at least one */
    uint32_t branch; /* with PARK, WAKE and DROP (protocol/session.h) */
};

enum report_kind {
    REPORT_FILTERED = 1, /* payload, with the listener of its filter; ahead of its run's limits */
    REPORT_READY,        /* payload, also to the supervisor: every layer is on, execve is next */
    REPORT_STARTED,      /* init: and it has succeeded */
    REPORT_FAILED,       /* the run did not start */
    REPORT_ENDED,        /* init: the main program has ended */
    REPORT_TREE_GONE,    /* subreaper: nothing of the run is left but its files */
    REPORT_RESTORED,     /* init: its program has ended, and one of before the cell goes on; or,
                            with failure, it could not be undone and is as it was */
    REPORT_PROGRAM,      /* init: another interpreter has started, or, with failure, has not */
    REPORT_PARKED,       /* init: a branch sleeps, or, with failure, does not: message is why */
};

/* Of every process of a sandbox but its init. */
struct tree_usage {
    uint64_t user_us;
    uint64_t system_us;
    uint64_t peak_memory_bytes; /* of the largest process */
};

struct report {
    uint32_t kind; /* enum report_kind */
    struct isolation_report isolation;
    struct run_limits limits; /* with REPORT_READY */
    uint32_t failure;         /* enum run_failure, with REPORT_FAILED and REPORT_RESTORED */
    uint32_t failed_layer;
    int32_t error_number;
    char message[256];
    int32_t wait_status; /* of the main program, with REPORT_ENDED and RESTORED; see waitpid(2) */
    uint32_t made_forbidden_call; /* then: that ended the run */
    int32_t system_call;          /* its number */
    uint32_t scratch_full;        /* then */
    uint32_t exceeded;            /* then: enum run_cause, of the limit for which its init has ended
                                     it; RUN_CAUSE_EXIT: none */
    uint64_t peak_processes;      /* then, where its init counts them; else 0 */
    uint64_t cpu_us;              /* of the main program and the children it waited for */
    uint32_t ordered;             /* then: the supervisor's order to end came first */
    uint32_t tree_is_gone;   /* then, from an init: no process of the run is left that could act */
    struct tree_usage usage; /* where the tree is gone; without the memory where a group tells it */
};

/* wait4(2), getrusage(2) */
struct tree_usage tree_usage_of(const struct rusage *usage);

/* Sends without SIGPIPE; false where it did not arrive: a peer that has gone wants no report. Its
 * buffer holds all that is ever sent. */
bool report_send(int socket, const struct report *report);
/* The same with a descriptor (-1: none), which stays the caller's. */
bool report_send_with(int socket, const struct report *report, int fd);

enum report_state {
    REPORT_END,     /* the other end is closed, or has sent something else */
    REPORT_NOTHING, /* nothing there now; only where it does not wait */
    REPORT_WHOLE,   /* *ret is filled */
};

enum report_state report_receive_now(int socket, struct report *ret);
/* Waits. *ret_fd is untouched where no descriptor came; else it is CLOEXEC and the caller's. */
enum report_state report_receive_with(int socket, struct report *ret, int *ret_fd);
