/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of runs with a guest that each backend does itself: where containers come from (docker's
 * engine, a cluster), and in which form the attached stream of one is sent and received. Two tables
 * of functions, constant, one of each a backend. All functions are called on the one thread of the
 * backend, and none of them waits, unless it says so.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/guest_runs/container/fault.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

struct container;
struct container_end;
struct curl_waitfd;
struct engine; /* where containers are made; the provider's, only compared elsewhere */
struct guest_environment;
struct run;
struct warm_pool;

enum attached_word {
    ATTACHED_NOTHING, /* no piece so far */
    ATTACHED_OPENED,  /* the stream is granted, and the container may be started */
    ATTACHED_STDOUT,
    ATTACHED_STDERR,
    ATTACHED_END, /* nothing more will come */
};

/* Consecutive bytes of one stream, or a word about both. */
struct attached_piece {
    enum attached_word word;
    const unsigned char *bytes; /* inside the input */
    size_t length;
};

/* The attached stream of a container. */
struct attached_form {
    /* Begins to connect: container_stream_connected() or a failure of the container follows. false
     * when out of memory. */
    bool (*open)(struct container *container);
    /* At any time, more than once too. */
    void (*close)(struct container *container);
    int (*fd)(const struct container *container); /* of one that is connected */
    /* Sends the request for the stream. 1: all of it is sent; 0: the connection takes no more now;
     * -1: it is broken. */
    int (*ask)(struct container *container);
    /* The number of bytes that were taken, as by send(2). -1 with EAGAIN or 0: none now, and these
     * must be the next ones, from the same address; -1 with any other errno: it is broken. */
    ssize_t (*send)(struct container *container, const void *bytes, size_t length);
    /* Sends what was taken and is not sent yet, and whether there is any of it left. NULL: there is
     * none, ever. */
    void (*flush)(struct container *container);
    bool (*has_unsent)(const struct container *container);
    /* Bytes as they come, as by recv(2): 0 is the end. They may be buffered where poll() does not
     * see them. */
    ssize_t (*receive)(struct container *container, void *bytes, size_t capacity);
    /* Takes input up to one piece. The number of bytes taken (all of them where there is no piece),
     * or -1 with the fault. */
    ptrdiff_t (*feed)(struct container *container, const unsigned char *bytes, size_t length,
                      struct attached_piece *ret, struct engine_fault *fault);
    /* Is it the stream's own end where nothing more can be received? cut: the connection broke. */
    bool (*is_whole)(const struct container *container, bool cut);
};

struct guest_provider {
    const char *name; /* in messages: "docker" */
    const struct attached_form *form;
    bool is_distant; /* the guest has GUEST_DISTANT, and waits for GUEST_TAKEN */

    /* Of a container (container.h). */
    /* Makes one for the warm pool, which waits at most so long. NULL: none now. */
    struct container *(*make_waiting)(struct guest_environment *environment,
                                      struct warm_pool *warm_pool, uint64_t waiting_s);
    /* Its stream is attached: starts it, unless it runs. container->running is set then. */
    void (*start)(struct container *container);
    /* Its guest has told what of the network it reaches. false: nobody has asked. NULL: nobody
     * does. */
    bool (*take_network)(struct container *container, const unsigned char *report, size_t length);
    /* Asks how it ended, if that is not known yet: the last request before the removal. */
    void (*read_end)(struct container *container);
    /* Whether a bad end must be asked about before the run hears of it. NULL: each must. */
    bool (*asks_after)(const struct container_end *end);
    /* A request about it is under way; gives it up. */
    bool (*is_asking)(const struct container *container);
    void (*stop_asking)(struct container *container);
    /* Gives up all requests under way and begins to remove it: container_removed() or
     * container_not_removed() follows. false when out of memory. */
    bool (*remove)(struct container *container);
    /* It is where its engine still makes containers. */
    bool (*is_current)(const struct container *container);
    /* Frees it with what is the provider's. */
    void (*free_container)(struct container *container);

    /* Of an engine. */
    /* Its facts are known, so containers can be made ahead of need. */
    bool (*is_known)(const struct engine *engine);
    /* A run has failed: its facts are looked up again. */
    void (*doubt)(struct engine *engine);
    /* Of a container with that template (struct warm_pool): what waits in it. */
    enum run_interpreter (*interpreter)(const json_t *template);

    /* Of a run (run/run_private.h), which ends with run_fail() at any of these. */
    struct run *(*new_run)(void); /* all zero but for what is the provider's; NULL: no memory */
    /* The description is read: asks the engine its questions, and gets the run a container. */
    void (*begin)(struct run *run);
    /* The container that was left over is removed: the same once more. */
    void (*go_on)(struct run *run);
    void (*make_container)(struct run *run);
    /* Its container has failed for a reason that another one may not meet, and has been given up:
     * begins anew. false: the reason is another. */
    bool (*begin_anew)(struct run *run, const struct engine_fault *fault);
    /* Its guest has told the kernel's facts, which suffice: which layers does the program have?
     * Fills what is known of the report but for the layers that are missing. false: the run has
     * failed. */
    bool (*judge)(struct run *run, struct isolation_report *report);
    /* Why the run's program does not have a layer that it is to have; NULL, also in its place: it
     * is not to be had here. Borrowed. */
    const char *(*explain_layer)(const struct run *run, enum isolation_layer layer);
    /* Puts the error code and the remedy into the event. The kind of failure for the event. */
    enum run_failure (*report)(const struct engine_fault *fault, struct run_event *event);
    /* Gives up what is asked for it. */
    void (*stop)(struct run *run);
    /* Its deadline has passed while something of the provider's is under way for it, which goes on
     * or has failed the run. false: nothing is. */
    bool (*expire)(struct run *run);
    void (*free_run)(struct run *run);

    /* Of the loop (supervisor/). */
    /* Waits for the descriptors, at most so long, and handles the answers to requests. -1 with
     * errno. */
    int (*wait)(struct guest_environment *environment, struct curl_waitfd *watches, size_t count,
                int timeout_ms);
    /* At the end of each round; NULL: nothing. */
    void (*handle)(struct guest_environment *environment);
    /* The backend ends; it waits until nothing is busy. NULL: nothing to end. */
    void (*close)(struct guest_environment *environment);
    bool (*is_busy)(const struct guest_environment *environment);
};
