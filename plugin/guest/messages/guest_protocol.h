/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code-execute-guest and the backend that has it in a container send each other, over the
 * guest's standard input and output. Both ends are of one build. Pure code.
 *
 * The backend sends one message, the run: a u32 with the length of the head, the head (the rows of
 * guest_run), then for each file a u64 length and its bytes, and the same for the standard input
 * where there is one, then a u32, GUEST_MESSAGE_END. A backend that finds a file to be another than
 * described never sends that word, and without it nothing is started; but of a cell it fills the
 * file up with zeros, and the number of the first such file is in the word's place. Behind it come
 * orders, each a byte. With GUEST_ORDER_END, the last one, the guest kills the program and goes on
 * as after any end, in haste. A run with tools, and a session, has two more: GUEST_ORDER_MEASURE,
 * and GUEST_ORDER_ANSWERS with a u32 length and so many bytes for the program's socket of answers;
 * a length of 0 is the end of that socket. The guest takes these whether the program reads them or
 * not: the backend never sends more than GUEST_ANSWERS_ROOM beyond what ANSWERS_TAKEN has told.
 * In a session these are for the last cell whose message was sent, if that has tools; the number of
 * bytes goes on from cell to cell.
 * A run with endpoints has GUEST_ORDER_ENDPOINTS, with a u32 length and so many bytes of the relay
 * of connections (connection_relay.h), which GUEST_ENDPOINTS frames are of, too; a length of 0 is
 * the end of the broker. Where the run is a session, further orders come: a cell is one with a
 * message of that form behind it, whose first file is the code of the cell, and so is a further
 * interpreter, with the message of a run. To that one the guest answers with STARTED, MISSING or
 * FAILED, as to the run.
 *
 * The guest sends frames: a u32 length of the payload, a byte with the kind, the payload. Numbers
 * are little endian. The order: FACTS, NETWORK where it was called so, WAITING, then STARTED,
 * MISSING or FAILED, then the program's bytes, then ENDED, then the FILES that the program has left
 * and COLLECTED, where the run asks for files. Nothing that a program writes is looked at by the
 * guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/run_description.h"

/* In the image: the guest, and a directory with commands that would install packages, which are
 * links to it, and Python's module pip (interpreter/installer_command/). */
#define GUEST_PATH       "/.code-execute-guest"
#define GUEST_INSTALLERS "/.code-execute-installers"
/* Its first argument: what of TCP the program may use. Behind it GUEST_DISTANT with what belongs to
 * that, if at all, and an interpreter's (guest_interpreter.h).
 */
#define GUEST_WITH_NETWORK    "with-network"
#define GUEST_WITHOUT_NETWORK "without-network"
#define GUEST_WITH_ENDPOINTS  "with-endpoints" /* to RUN_ENDPOINTS_PORT alone */
/* The image has brought the guest, so its digest is among the facts. Its container was started by
 * itself, and what carries its frames has those alone that come while the backend is there: it says
 * nothing before GUEST_CALL, and stays for a while at its end, until the backend has answered the
 * last frame with GUEST_TAKEN. Two numbers follow, as a pod has no such limits: of open files, and
 * of seconds of processor time, of each process; 0 is none. */
#define GUEST_DISTANT           "distant"
#define GUEST_DISTANT_ARGUMENTS 3

#define GUEST_HEADER_LENGTH   5
#define GUEST_CONTROL_LIMIT   8192  /* payload of a frame that is not a stream's */
#define GUEST_OWN_FACTS_LIMIT 176   /* of its own lines in the facts */
#define GUEST_DATA_LIMIT      65536 /* payload of a stream's frame */
#define GUEST_HEAD_LIMIT      (UINT32_C(64) << 20)
#define GUEST_STRING_LIMIT    GUEST_HEAD_LIMIT
#define GUEST_STRINGS_LIMIT   4096
#define GUEST_MESSAGE_END     UINT32_C(0x21646e65) /* of a cell also a file's number, see above */
/* Ahead of the message: the stream is attached. With NETWORK the guest also tries the network, and
 * says GUEST_NETWORK behind the facts; a byte with the length of the address of another pod, and
 * that address as text, follow. */
#define GUEST_CALL         'c'
#define GUEST_CALL_NETWORK 'n'
#define GUEST_PEER_SIZE    46 /* of that text, with a NUL */
/* What it tries, as its report names them: a listener of its own, and what must not be reached. */
#define GUEST_TRY_CONTROL      "control"
#define GUEST_TRY_SERVER       "api-server"
#define GUEST_TRY_DNS          "dns-tcp"
#define GUEST_TRY_DNS_DATAGRAM "dns-udp"
#define GUEST_TRY_METADATA     "metadata"
#define GUEST_TRY_POD          "pod"
#define GUEST_TRIES_MOST       8
/* Behind ENDED, and behind the files: the backend has all of it. */
#define GUEST_TAKEN           "all!"
#define GUEST_TAKEN_LENGTH    4
#define GUEST_ORDER_END       'e'
#define GUEST_ORDER_ANSWERS   'a' /* see above */
#define GUEST_ORDER_MEASURE   'm' /* the processor time of all: GUEST_MEASURED is the answer */
#define GUEST_ORDER_ENDPOINTS 'c' /* see above */
#define GUEST_ENDPOINTS_LIMIT UINT32_C(16384)  /* of one order */
#define GUEST_ANSWERS_LIMIT   UINT32_C(16384)  /* of one order */
#define GUEST_ANSWERS_ROOM    UINT32_C(131072) /* for what the program has not taken yet */
/* Of a session, in front of a message (CELL, PROGRAM and both of COLLECT) or alone. */
#define GUEST_ORDER_CELL          '0' /* and further digits: the number of its program */
#define GUEST_ORDER_PROGRAM       'p' /* start another interpreter */
#define GUEST_ORDER_INTERRUPT     'i' /* SIGINT for the program of the last cell */
#define GUEST_ORDER_STOP          's' /* stop all, until the next cell */
#define GUEST_ORDER_COLLECT       'f' /* what has changed, by the outputs of the message */
#define GUEST_ORDER_COLLECT_HASTE 'h'
#define GUEST_ORDER_UNDO          'u' /* the cell under way: GUEST_RESTORED is the answer */
/* And a number of the last cells, up to CHECKPOINTS_MOST: GUEST_RESTORED or GUEST_NOT_RESTORED. */
#define GUEST_ORDER_UNDO_CELLS '@'
/* And the number of a branch (protocol/session.h), of DROP also SESSION_BRANCH_AWAKE. */
#define GUEST_ORDER_PARK 0x80 /* GUEST_PARKED is the answer */
#define GUEST_ORDER_WAKE 0x90 /* GUEST_RESTORED or GUEST_NOT_RESTORED is */
#define GUEST_ORDER_DROP 0xa0 /* there is none */

/* Descriptors of an interpreter that waits (guest_python.py), beside RUN_RESULTS_FD and
 * RUN_TOOLS_FD. */
#define GUEST_INTERPRETER_RUN \
    3 /* its run: the lists of variables and arguments, has_input, has_results, has_tools */
#define GUEST_INTERPRETER_TOLD  4 /* its report: 'w' when it waits, 'b' when its program begins */
#define GUEST_INTERPRETER_INPUT 5 /* the file that becomes its standard input */

#define GUEST_DIGEST        "Guest:\t"  /* a line of the facts: SHA-256 of the program */
#define GUEST_KERNEL        "Kernel:\t" /* the same */
#define GUEST_KERNEL_GVISOR "gVisor"
#define GUEST_KERNEL_LINUX  "Linux"

enum guest_kind {
    GUEST_FACTS = 1, /* what the kernel says of the guest (guest_facts.c): its /proc/self/status,
                        its digest, whose kernel it is, and in the last line the ABI of Landlock
                        that every program gets, 0 for none */
    GUEST_WAITING,   /* for the message, and so does the interpreter, if there is one */
    GUEST_STARTED,   /* the program's execve has succeeded, behind all layers */
    GUEST_MISSING,   /* the program is not in the image */
    GUEST_FAILED,    /* a text: why nothing was started */
    GUEST_STDOUT,
    GUEST_STDERR,
    GUEST_RESULTS,   /* the program's frames of what it shows, unread (docs/internals/run.md) */
    GUEST_ENDED,     /* struct guest_end: every process of the program is dead */
    GUEST_FILES,     /* the guest's frames of the files that it has left (protocol/file_frames.h) */
    GUEST_COLLECTED, /* there are no more of them */
    GUEST_CELL,      /* of a session: what follows is of the next cell */
    GUEST_LATE_STDOUT, /* what the processes of a session print to the streams of the last cell */
    GUEST_LATE_STDERR,
    GUEST_MEASURED, /* struct guest_measure */
    GUEST_RESTORED, /* struct guest_end: cells are undone; of the interpreter that ended with them
                     */
    GUEST_NOT_RESTORED,  /* there is no checkpoint, and the session is as it was */
    GUEST_PARKED,        /* a byte, enum checkpoint_word: a branch sleeps, or all is as it was */
    GUEST_ANSWERS_TAKEN, /* a u32: so many more bytes have gone to the program, or were dropped
                            because it has closed its socket */
    GUEST_ENDPOINTS,     /* of the relay of connections */
    GUEST_NETWORK,       /* what of the network answers: a line a try (network_probe.h) */
    GUEST_KIND_END
};

/* The head of a run's message. */
struct guest_run {
    uint32_t trial;          /* 1: look for the program, and start nothing */
    uint32_t has_input;      /* 1: the standard input follows the files; 0: it is /dev/null */
    uint32_t has_results;    /* 1: the program gets RUN_RESULTS_FD */
    uint32_t has_tools;      /* 1: and RUN_TOOLS_FD; also of a cell */
    uint32_t has_command;    /* 1: and calls them by a command, which is in its PATH */
    uint32_t has_installers; /* 1: GUEST_INSTALLERS is ahead of its PATH and PYTHONPATH */
    uint32_t has_endpoints;  /* 1: it reaches them at RUN_ENDPOINTS_PORT */
    uint32_t runner;         /* enum run_interpreter: argv is its, and a script of ours begins its
                                program. Of a session of a shell: argv is the shell alone */
    uint32_t session;        /* 1: it executes cells; of a cell: 1 */
    uint32_t lasting;        /* of a cell: the last so many of its variables stay */
    uint32_t checkpoints;    /* of a cell: 0, or one is to be made ahead of it, and so many kept */
    uint32_t private_file_count; /* the last so many files: mode 0400 */
    char **argv;                 /* argv[0] is looked up in PATH */
    char **environment;          /* "NAME=value", instead of the image's own of that name */
    char **paths;                /* of the files, below the working directory */
    struct run_outputs outputs;
    uint64_t file_bytes; /* that the program may write into one file; 0: the container's limit */
};

struct guest_end {
    uint32_t wait_status; /* of the program's first process, as from wait(2) */
    /* Lower bounds: a process whose parent has not waited for it is not counted. */
    uint64_t user_us; /* of all processes */
    uint64_t system_us;
    uint64_t peak_memory_bytes; /* of the largest process */
};

/* The processor time of all processes of the container (base/process_stat.h). */
struct guest_measure {
    uint32_t is_known; /* 0: /proc does not tell it */
    uint32_t processors;
    uint64_t total_us;
    uint64_t cost_us; /* of measuring it */
    uint64_t user_us; /* of the total, what was not spent in the kernel */
};

/* The head alone. */
void guest_run_write(struct wire_writer *writer, const struct guest_run *run);
/* false and *ret untouched where the bytes are no head, or a path leads out of the working
 * directory. Else *ret owns its lists. */
bool guest_run_read(const unsigned char *bytes, size_t length, struct guest_run *ret);
/* Wipes and releases the lists. */
void guest_run_clear(struct guest_run *run);

/* The bytes of a program, which are nobody's words but its own. */
bool guest_kind_is_program(enum guest_kind kind);
/* Those and the files: bytes that come in any cuts. */
bool guest_kind_is_stream(enum guest_kind kind);

void guest_end_write(struct wire_writer *writer, const struct guest_end *end);
bool guest_end_read(const unsigned char *bytes, size_t length, struct guest_end *ret);
void guest_measure_write(struct wire_writer *writer, const struct guest_measure *measure);
bool guest_measure_read(const unsigned char *bytes, size_t length, struct guest_measure *ret);
