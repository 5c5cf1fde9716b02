/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speaks the backend protocol directly, as the plugin does, for tests of code-execute-process by
 * itself. Aborts the test program where the harness itself cannot go on. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol/channel.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

struct backend {
    int control;
    pid_t pid; /* of the supervisor */
};

/* Starts the program named by CODE_EXECUTE_PROCESS and takes its hello. */
struct backend backend_start(void);
/* false: it has ended before its hello. */
bool backend_try_start(struct backend *ret);
/* Closes the control socket and waits until the supervisor is gone. */
void backend_stop(struct backend *backend);

struct running {
    int events;
    int output;
    int errors;
};

struct outcome {
    bool started;
    struct run_event start;
    struct run_event end;
    char output[65536];
    char errors[65536];
    double seconds; /* until ENDED */
};

/* A sandboxed run of the words with everyday limits; the caller changes what it tests. The words
 * and the struct's lists are borrowed. */
struct run_description describe(char **argv);
/* A NULL-terminated list of literals, as the description's members want it. */
#define WORDS(...) ((char **)(uintptr_t)(const char *const[]){__VA_ARGS__, NULL})

/* The content of files by reference, and its hash. */
#define HARNESS_INPUT      "by reference\n"
#define HARNESS_INPUT_HASH "bf7c619451b9e0223ca92a2e453c42b601a8fc079ae326bc9a5567e95c8b5a2d"
/* Sends these instead, with every run until NULL is given. */
void harness_give_inputs(const int *fds, size_t count);
/* Where the files of every run go until -1 is given; borrowed. Else they go nowhere. */
void harness_take_files(int fd);
/* The RUN_FD_ENDPOINTS of every run until -1 is given; borrowed. */
void harness_give_endpoints(int fd);

struct running run_begin(const struct backend *backend, const struct run_description *description);
/* false: the backend takes no run, as one that ends does not. */
bool run_try_begin(const struct backend *backend, const struct run_description *description,
                   struct running *ret);
/* The same with a standard input, sealed as the plugin seals it. */
struct running run_begin_with_input(const struct backend *backend,
                                    const struct run_description *description, const char *input);
/* The same with a standard input of any kind, which it takes. */
struct running run_begin_with_stdin(const struct backend *backend,
                                    const struct run_description *description, int input);
/* A new memfd of the message. */
int harness_description(const struct run_description *description);
/* Reads output until ENDED (or 60 seconds, which fails), then closes all. */
void run_finish(struct running *running, struct outcome *ret);
void run(const struct backend *backend, const struct run_description *description,
         struct outcome *ret);
/* Waits for STARTED. */
void run_await_start(const struct running *running);
/* Waits until it has printed something, which is left to be read. */
void run_await_output(const struct running *running);

double now_seconds(void);
/* How many times longer everything may take here: HARNESS_SLOW, for machines without a processor of
 * their own. Else 1. */
unsigned int slowness(void);
/* Not ended: a zombie that its parent has yet to reap is not alive. */
bool process_is_alive(pid_t pid);
/* Processes of the machine whose command line holds the text. */
int count_processes(const char *text);
