/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner to a run: its state, and the parts that its files offer each other. run.c has its life and
 * the plugin's side, run_steps.c the chain of requests to the engine, run_image.c the image,
 * run_stream.c the stream to and from the container.
 */
#pragma once

#include "../../protocol/run_description.h"
#include "../../protocol/run_event.h"
#include "bootstrap.h"
#include "container_cause.h"
#include "http_head.h"
#include "pull_progress.h"
#include "run.h"
#include "stream_frames.h"
#include "sweep.h"

#define CONTAINER_NAME_PREFIX "code-execute-"
#define CONTAINER_NAME_LENGTH (sizeof(CONTAINER_NAME_PREFIX) - 1 + 32)
#define STREAM_CHUNK          65536
#define RUN_PATH_LIMIT        1024 /* of a request to the engine */
/* Below the plugin's own patience with a set-up, so that the reason is told. */
#define RUN_START_LIMIT_US (UINT64_C(18) * 1000000)

/* An image is being fetched. */
struct run_pull_state {
    struct pull_progress progress;
    char last[256]; /* what the plugin was told last */
    uint64_t heard_us;
};

struct run_stream {
    struct engine_call *connection; /* NULL: not open, or over */
    bool connected;
    bool asked; /* the request for it was sent whole */
    bool over;
    bool more; /* there may be more to receive than poll() knows of */
    struct http_head head;
    bool taken_over; /* the head is read; frames follow */
    struct frame_reader frames;
    struct bootstrap_reader bootstrap;
    enum bootstrap_state state;
    unsigned char chunk[STREAM_CHUNK];
    size_t begin; /* of what is still to be looked at */
    size_t end;
    struct frame_piece piece; /* to be written to a pipe */
    unsigned char *message;   /* to the bootstrap; wiped once it is sent */
    size_t length;
    size_t sent;
    struct bootstrap_reader errors; /* what the bootstrap said on its standard error */
    enum bootstrap_state errors_state;
};

struct run {
    struct docker_environment *environment;
    struct engine *engine;
    struct run_description description; /* without its secrets, once the message is made */
    int socket;                         /* -1: the plugin wants no answer */
    int pipes[2];
    char name[CONTAINER_NAME_LENGTH + 1];
    char id[65];
    json_t *config;           /* as asked for */
    struct engine_call *call; /* the request under way */
    struct engine_call *wait;
    struct sweep *sweep;         /* that this run waits for */
    struct run_pull_state *pull; /* under way */
    bool pulled;                 /* it has been tried */
    struct run_stream stream;
    bool created; /* there may be a container of that name */
    bool creating;
    bool waited; /* the container has ended: end is filled */
    bool removing;
    bool removed;
    bool started;
    bool killed;
    bool over;
    unsigned int attempts; /* at removing */
    enum run_cause kill_cause;
    struct container_end end;
    uint64_t started_us;
    uint64_t deadline_us;
    struct run_event event; /* ENDED, as it builds up */
};

/* run.c */
void run_fail(struct run *run, enum run_failure failure, int error_number, const char *message);
void run_fail_engine(struct run *run, const struct engine_fault *fault);
/* STARTED: the bootstrap has said that it becomes the program. */
void run_report_start(struct run *run);
/* The wait or the stream is over: goes on when both are. */
void run_check_end(struct run *run);
void run_kill(struct run *run, enum run_cause cause);

/* run_steps.c */
void run_begin_steps(struct run *run);
/* A request of the run; slot has it until done is called. A start that fails ends the run. */
void run_ask(struct run *run, struct engine_call **slot, const char *method, const char *path,
             const char *body, uint64_t timeout_ms, engine_done *done);
/* The answer's JSON object (new) where the status is the expected one; else NULL, and the run has
 * failed: docker refused to do what. */
json_t *run_take_answer(struct run *run, const struct engine_answer *answer, long expected,
                        const char *what);
void run_create_container(struct run *run, const char *image_id);
void run_start_container(struct run *run); /* after the stream is taken over */
void run_inspect_end(struct run *run);
void run_remove(struct run *run);

/* run_image.c */
void run_ask_for_image(struct run *run);
/* While an image is fetched: tells the plugin, and gives up on an engine that says nothing. */
void run_pull_tick(struct run *run);

/* run_stream.c */
bool run_stream_open(struct run *run);
void run_stream_close(struct run *run);
short run_stream_interest(const struct run *run);
/* Which pipe it waits for, -1: none. */
int run_stream_blocked_pipe(const struct run *run);
void run_stream_handle(struct run *run);
/* It has something to do without waiting for any descriptor. */
bool run_stream_is_ready(const struct run *run);
