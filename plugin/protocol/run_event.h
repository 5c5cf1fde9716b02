/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend's reports about a run, and the orders to it while the run is under way. One datagram
 * each, on the run's own SOCK_SEQPACKET socket. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layers.h"
#include "preparation_outcome.h"

#define PROTOCOL_VERSION        22
#define RUN_EVENT_MESSAGE_LIMIT 2048 /* bytes of an encoded event */
#define RUN_DETAILS_LIMIT       384
#define RUN_RETRY_AFTER_LIMIT   3600000 /* milliseconds: no longer is anybody told to wait */

/* X(constant, name) - how a run ended, as the result's "cause" names it. */
#define RUN_CAUSES(X)                         \
    X(EXIT, "exit")                           \
    X(WALL_TIMEOUT, "wall_timeout")           \
    X(CPU_LIMIT, "cpu_limit")                 \
    X(MEMORY_LIMIT, "memory_limit")           \
    X(PROCESS_LIMIT, "process_limit")         \
    X(OUTPUT_LIMIT, "output_limit")           \
    X(FILE_LIMIT, "file_limit")               \
    X(DISK_FULL, "disk_full")                 \
    X(SIGNAL, "signal")                       \
    X(FORBIDDEN_SYSCALL, "forbidden_syscall") \
    X(CANCELLED, "cancelled")                 \
    X(INFRASTRUCTURE, "infrastructure")

enum run_cause {
#define X(constant, name) RUN_CAUSE_##constant,
    RUN_CAUSES(X)
#undef X
        RUN_CAUSE_COUNT
};

/* cause < RUN_CAUSE_COUNT */
const char *run_cause_name(enum run_cause cause);

/* Why a run did not start, with cause INFRASTRUCTURE. */
enum run_failure {
    RUN_FAILURE_NONE = 0,
    RUN_FAILURE_LAYER,           /* a layer could not be applied: failed_layer, error_number */
    RUN_FAILURE_WORKSPACE,       /* nor could the workspace be shown: as RUN_FAILURE_LAYER */
    RUN_FAILURE_OTHER_WORKSPACE, /* its path leads to another directory, or to none: message */
    RUN_FAILURE_INPUT_FILE,      /* a file by reference is not as described: message is its path,
                                    error_number where it cannot be read */
    RUN_FAILURE_RUNTIME_MISSING, /* argv[0] is nowhere in runtime_path */
    RUN_FAILURE_EXEC,            /* found, but execve failed: error_number */
    RUN_FAILURE_DESCRIPTION,     /* the description could not be read */
    RUN_FAILURE_INTERNAL,        /* anything else of ours: error_number, message */
    RUN_FAILURE_BACKEND,         /* of the backend's own: problem_code, retry_after_ms, message,
                                    remedy */
    RUN_FAILURE_IMAGE,           /* the same: it does not have the image */
    RUN_FAILURE_COUNT
};

#define RUN_USAGE_UNKNOWN UINT64_MAX /* a value that a backend cannot measure */

/* Each but wall_us may be RUN_USAGE_UNKNOWN. */
struct run_usage {
    uint64_t wall_us;
    uint64_t user_us;
    uint64_t system_us;
    uint64_t
        peak_memory_bytes; /* of the tree where a cgroup counts it, else of the largest process */
    uint64_t processes;    /* most at one time, threads included */
    /* Processes the kernel killed for the cgroup's memory limit; 1 also where a backend learns of
     * some but not how many. */
    uint64_t memory_kills;
    uint64_t process_refusals; /* forks the cgroup's process limit refused */
};

enum run_event_type {
    RUN_EVENT_STARTED = 1, /* layers applied, program executed (or, on trial, could have been) */
    RUN_EVENT_ENDED =
        2, /* the whole tree is dead; always the last event, also of a run never started */
    RUN_EVENT_PROGRESS = 3,    /* before STARTED: a line for people, and that it still goes on */
    RUN_EVENT_INTERRUPTED = 4, /* the cell of a session has had its time, and goes on: cause
                                  is WALL_TIMEOUT or CPU_LIMIT */
    RUN_EVENT_RESTORED = 5,    /* its interpreter has ended as ENDED would say, and the session is
                                  as before the cell; or, with failure, it could not be undone */
    RUN_EVENT_PROGRAM = 6,     /* another interpreter of a session has started; or, with failure,
                                  has not */
    RUN_EVENT_PARKED = 7,      /* a branch of a session sleeps; or, with failure, does not: message
                                  is the name of a word of checkpoint.h */
    RUN_EVENT_MEASURED = 8,    /* the usage of a cell of a session, as far as it is known */
    RUN_EVENT_TYPE_COUNT
};

/* In STARTED and ENDED: the backend's report on itself, in a form that only its mode's row knows.
 */
struct run_details {
    uint32_t length; /* 0: nothing */
    unsigned char bytes[RUN_DETAILS_LIMIT];
};

/* The state of a run's sandbox when the run came. */
enum sandbox_origin {
    SANDBOX_NEW,    /* nothing: its sandbox was made then, and its interpreter started */
    SANDBOX_COPIED, /* an interpreter, of which its sandbox is a copy */
    SANDBOX_READY,  /* its sandbox */
    SANDBOX_KEPT,   /* its session: said by the plugin, of each cell but the first */
    SANDBOX_ORIGIN_COUNT
};

struct run_event {
    uint32_t type; /* enum run_event_type */
    struct isolation_report isolation;
    struct run_details details;
    char image_id[80]; /* of the image that it comes from; "": not known */
    uint32_t origin;   /* enum sandbox_origin */
    int32_t first_pid; /* of STARTED: its first process, where the plugin can look at it; else 0 */
    /* The rest is for ENDED and RESTORED; the usage for MEASURED as well. */
    uint32_t cause;    /* enum run_cause */
    int32_t exit_code; /* -1: did not exit by itself */
    int32_t signal;    /* 0: not ended by one */
    uint32_t failure;  /* enum run_failure */
    uint32_t failed_layer;
    uint32_t problem_code;   /* enum error_code */
    uint64_t retry_after_ms; /* of the problem; 0: not known */
    int32_t error_number;
    uint32_t swept;       /* RUN_PURPOSE_SWEEP: how many strays were removed ... */
    uint32_t unswept;     /* ... and how many could not be */
    uint32_t preparation; /* RUN_PURPOSE_PREPARE: enum preparation_kind, its detail in message */
    char groups[256];     /* of a trial: below which directory runs get their control groups */
    char
        message[256]; /* the failure, for people; the name of a system call for FORBIDDEN_SYSCALL */
    char remedy[384]; /* the remedy for a problem of the backend's own */
    struct run_usage usage;
};

/* Writes at most RUN_EVENT_MESSAGE_LIMIT bytes to message; the length. */
size_t run_event_encode(const struct run_event *event,
                        unsigned char message[RUN_EVENT_MESSAGE_LIMIT]);
/* false and *ret untouched where the bytes are no event of this version or hold a value out of
 * range. */
bool run_event_decode(const unsigned char *message, size_t length, struct run_event *ret);

/* Whether a run with that cause was ended by its time limit or by an order of the plugin's. */
bool run_cause_is_order(enum run_cause cause);

/* From the plugin, on the run's socket. The first two end the run now, and become the cause of
 * ENDED. Closing the socket does the same and wants no answer. */
enum run_order {
    RUN_ORDER_CANCEL = 'c',       /* ends as RUN_CAUSE_CANCELLED */
    RUN_ORDER_OUTPUT_LIMIT = 'o', /* ends as RUN_CAUSE_OUTPUT_LIMIT */
    RUN_ORDER_WAITS = 'w',        /* calls of tools are open: the wall time counts only what the
                                     program computes */
    RUN_ORDER_GOES_ON = 'g',      /* none is open any more */
};
