/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's output on its way to the client as it comes: notifications/progress, no more often than
 * a client can show them. The thread inside tool_invoke() adds, the main thread sends what waits.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_EVERY_MS 100
#define PROGRESS_TEXT     4096u

struct connection;

struct progress {
    bool wanted;
    pthread_mutex_t lock;
    uint64_t bytes; /* so far, of all streams: what grows with every notification */
    uint64_t sent_bytes;
    uint64_t sent_ms;
    char text[PROGRESS_TEXT]; /* that is not sent yet: the latest, from where it still fits */
    size_t length;
    bool ended;
};

void progress_start(struct progress *progress, bool wanted);
/* is_line: it is a line by itself, whose end is not in it. true: something waits for the main
 * thread to send it. */
bool progress_add(struct progress *progress, struct connection *connection, const json_t *token,
                  const void *bytes, size_t length, bool is_line);
/* Sends what is due; milliseconds until more is, or -1. */
int progress_tend(struct progress *progress, struct connection *connection, const json_t *token);
/* Nothing is sent any more: the answer comes next. */
void progress_end(struct progress *progress);
void progress_clear(struct progress *progress);
