/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One container from its making to its removal:
 *   make -> attach -> start -> wait -> read the end -> remove
 * It serves one run, or waits for one in its guest, or is being removed without a run. A
 * failure or a kill at any step leads to remove. The requests are the provider's (provider.h);
 * container.c has the life, container_stream.c the attached stream. Runs in a backend of
 * containers, single-threaded; no function here waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/guest_runs/container/container_end.h"
#include "backends/guest_runs/container/guest_stream.h"
#include "backends/guest_runs/container/message_sender.h"
#include "backends/guest_runs/container/provider.h"
#include "backends/guest_runs/container/socket_sender.h"
#include "protocol/checkpoint.h"
#include "protocol/run_event.h"

#define CONTAINER_NAME_PREFIX "code-execute-"
#define CONTAINER_NAME_LENGTH (sizeof(CONTAINER_NAME_PREFIX) - 1 + 32)
#define STREAM_CHUNK          65536
/* From the order to create one to its guest's report; shorter than the plugin waits for a
 * set-up, so that the reason is reported. */
#define CONTAINER_START_LIMIT_US (UINT64_C(18) * 1000000)

/* The pipes that a program's output and files go to. The plugin reads them; the backend does not.
 */
enum job_pipe {
    JOB_STDOUT,
    JOB_STDERR,
    JOB_RESULTS,
    JOB_FILES,
    JOB_LATE_STDOUT, /* of a session: the streams of its last cell */
    JOB_LATE_STDERR,
    JOB_ENDPOINTS, /* not a pipe: the socket of the broker's relay */
    JOB_PIPES
};

/* Sockets whose bytes go to the guest, unread. */
enum job_sender {
    JOB_ANSWERS,     /* to calls of tools: of a run that has tools, or whose cells have */
    JOB_CONNECTIONS, /* to endpoints: of the broker's relay */
    JOB_SENDERS
};

#define JOB_ORDERS 8

/* The work of a container for its run. The run owns it. */
struct container_job {
    struct run *run;            /* passed to container_events */
    int pipes[JOB_PIPES];       /* owned by the run */
    struct run_message message; /* to the guest; wiped once the program has started */
    int inputs;                 /* RUN_FD_INPUTS of the run, owned by it */
    bool collects;              /* the guest sends files behind the end */
    bool started;               /* set by the run, in container_events.started */
    struct socket_sender senders[JOB_SENDERS]; /* owned by the run */
    /* Of a session. */
    bool session;
    bool sends;          /* a message of a cell, in place of that of the run */
    bool adds;           /* a further interpreter, until the guest has answered */
    int next[JOB_PIPES]; /* owned by the run: of the cell on its way; -1 */
    /* To the guest, ahead of a message or of answers that are still to begin. */
    char orders[JOB_ORDERS];
    size_t order_count;
};

/* What a container reports. The pool and the run include this header, so the functions are theirs:
 * one table for all containers, in the environment. */
struct container_events {
    /* To the pool, for a container in a warm pool: it waits for its message; it has failed or is
     * being removed. */
    void (*ready)(struct container *container);
    void (*lost)(struct container *container);
    /* To its run: the guest waits for the message, and gets it unless the run fails now. */
    void (*waits)(struct run *run);
    /* The guest has reported that its program is started. */
    void (*started)(struct run *run);
    /* The same for a further interpreter of a session, or the reason why it did not start. */
    void (*added)(struct run *run, enum run_failure failure, const char *message);
    /* The guest has not found the program's file. The container still exists then, as it does with
     * "failed". */
    void (*missing)(struct run *run);
    void (*failed)(struct run *run, enum run_failure failure, const struct engine_fault *fault);
    /* The answer to GUEST_ORDER_MEASURE. false: there was no question. */
    bool (*measured)(struct run *run, const struct guest_measure *measure);
    /* The answer to an order to undo cells or to wake a branch, or the report that a cell was
     * undone because its interpreter ended. It says how the interpreter ended. NULL: nothing was
     * undone. */
    void (*restored)(struct run *run, const struct guest_end *ended);
    /* The answer to an order to put a branch to sleep. */
    void (*parked)(struct run *run, enum checkpoint_word word);
    /* The program has ended (container->end), and all its output was passed on, but not its files.
     */
    void (*ended)(struct run *run);
    /* Behind "ended": nothing more comes from the guest. */
    void (*finished)(struct run *run);
    /* fault NULL: the container is removed; else it is not, and the run no longer has it. */
    void (*gone)(struct run *run, const struct engine_fault *fault);
};

/* Shared by all runs of the process. Part of the provider's own structure. */
struct guest_environment {
    const struct guest_provider *provider;
    const struct container_events *events; /* called by containers */
    struct container *containers;          /* all that are not removed yet; owned */
    struct warm_pool *warm_pools;          /* WARM_POOLS (pool/warm_pool.h) */
    const char *guest_digest;              /* which guest a container must have; NULL: any */
    uint64_t busy_us;                      /* when a run was last under way */
    bool closing; /* containers that cannot be removed are left to the next backend */
};

struct container_stream {
    bool open; /* the provider has a connection for it, or waits for one */
    bool connected;
    bool asked_whole; /* the request for it was sent */
    bool ended;       /* by the peer; received bytes may not be written yet */
    bool over;
    bool more;       /* there may be more to receive than poll() knows of */
    bool taken_over; /* it is granted */
    struct guest_reader guest;
    uint32_t facts;        /* that hold for the guest */
    uint32_t landlock_abi; /* of its programs */
    bool is_known_guest;   /* it is the one that the environment names */
    bool waiting;          /* it waits for the message, or has waited */
    bool started;          /* it has started the program */
    bool collected;        /* it has sent all files of the run */
    char errors[160];      /* what came on the container's own standard error */
    unsigned char chunk[STREAM_CHUNK];
    size_t begin; /* of the bytes of the chunk that are not looked at yet */
    size_t end;
    struct attached_piece piece; /* of the chunk */
    struct guest_piece output;   /* of the piece: to be written to a pipe */
    struct message_sender sender;
};

/* Part of the provider's own structure. */
struct container {
    struct container *next; /* in the environment's list, which owns it */
    struct guest_environment *environment;
    struct engine *engine;
    struct container_job *job;   /* NULL: none */
    struct warm_pool *warm_pool; /* in which it waits for a job */
    bool warm;                   /* it was made without a run */
    bool ready;                  /* it waits for its message */
    bool held; /* taken for its job, and not bound to it yet: nothing of it is sent */
    char name[CONTAINER_NAME_LENGTH + 1];
    struct container_stream stream;
    bool creating;      /* the answer to create is still to come */
    bool running;       /* the provider has heard so */
    bool waited;        /* it has ended: end.status is filled */
    bool memory_killed; /* a process in it was killed for memory, by the provider's events */
    bool looked;        /* the provider was asked about that end */
    bool ordered;       /* its run has ordered the end, so the reason is known */
    bool told;          /* its run has heard of the end */
    bool acknowledged;  /* its guest has */
    bool removing;
    bool removed;
    unsigned int attempts; /* at the removal */
    struct container_end end;
    uint64_t made_us;
    uint64_t deadline_us; /* 0: none */
};

/* Fills one that is all zero, for the job, or without a job for the warm pool; and adds it to the
 * environment's. Both for the provider. */
void container_begin(struct container *container, struct guest_environment *environment,
                     struct engine *engine, struct container_job *job, struct warm_pool *warm_pool);
void container_add(struct container *container);
/* The provider reports the outcome of the removal. */
void container_removed(struct container *container);
void container_not_removed(struct container *container);
/* Begins to remove it, at any step. Its run, if it still has one, gets "gone" at the end. */
void container_remove(struct container *container);
/* The same without its run. */
void container_leave(struct container *container);
/* A container that the engine has not removed in all attempts; NULL: none. */
struct container *container_stuck(const struct guest_environment *environment,
                                  const struct engine *engine);
/* Tries the removal again, for a run that waits for it. */
void container_retry(struct container *container, struct container_job *job);
/* How many are being removed without a run. */
size_t container_count_leaving(const struct guest_environment *environment);

/* Both report the failure to its run or its warm pool, and lead to the removal. */
void container_fail(struct container *container, const char *message);
void container_fail_engine(struct container *container, const struct engine_fault *fault);
/* The same for a failure that says nothing about the engine. */
void container_fail_alone(struct container *container, enum run_failure failure,
                          const struct engine_fault *fault);
/* Its run's time is up. true: the program had ended before, and its run gets "ended" without the
 * engine's answer about the end. */
bool container_end_last_look(struct container *container);
/* Orders the guest to kill the program and then to send the files. false: the order cannot be sent.
 */
bool container_order_end(struct container *container);
/* One more order without a message; of a session, the message of the job. */
bool container_send_order(struct container *container, char order);
void container_send_message(struct container *container);
/* Reads and writes what can be. */
void container_handle(struct container *container);
/* Its deadline has passed. */
void container_expire(struct container *container);
/* It is removed and has no run: container_free() is due. */
bool container_is_over(const struct container *container);
void container_free(struct container *container);

/* container_progress.c */
/* Call it when the wait or the stream is over, or when the guest has sent a frame. */
void container_check_end(struct container *container);

/* container_session.c */
/* Takes a frame that only the guest of a session sends. false: it is a frame of every run. *ret
 * false: it came out of turn. */
bool container_session_take(struct container *container, const struct guest_piece *said, bool *ret);

/* container_tools.c */
/* That socket, where more could be taken from it now; else -1. */
int container_sender_socket(const struct container *container, enum job_sender which);
/* An order with bytes from one of the sockets is being sent. Its rest goes before everything else.
 */
bool container_is_sending(const struct container *container);
/* Sends the rest of it. false: the connection takes no more now. */
bool container_send_rest(struct container *container);
/* Takes the next bytes from the sockets, as many as the guest has room for. */
void container_pass_sockets_on(struct container *container);
/* Takes a frame about answers or processor time. false: it is another one. *ret false: it came out
 * of turn. */
bool container_tools_take(struct container *container, const struct guest_piece *said, bool *ret);

/* container_stream.c */
/* false when out of memory. */
bool container_stream_open(struct container *container);
/* The provider's connection for it is made. */
void container_stream_connected(struct container *container);
void container_stream_close(struct container *container);
short container_stream_interest(const struct container *container);
/* The pipe of its run that it waits for, -1: none. */
int container_stream_blocked_pipe(const struct container *container);
void container_stream_handle(struct container *container);
/* It has something to do without waiting for any descriptor. */
bool container_stream_is_ready(const struct container *container);
