/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of one client's messages and the thread that writes it. Any thread. */
#include "mcp/wire/write_queue.h"

#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/event.h"
#include "base/json.h"
#include "base/write_fully.h"

#define MOST_UNREAD           (64u << 20)
#define MOST_UNREAD_DROPPABLE (1u << 20)

struct line {
    struct line *next;
    size_t length;
    char *text; /* with its line break */
};

struct write_queue {
    int fd, wake_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct line *first, **end;
    size_t bytes; /* queued and being written */
    bool broken, closed;
};

static void free_line(struct line *line)
{
    free(line->text);
    free(line);
}

static struct line *take_line(struct write_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    while (!queue->first && !queue->closed)
        (void)pthread_cond_wait(&queue->changed, &queue->lock);
    struct line *line = queue->closed ? NULL : queue->first;
    if (line) {
        queue->first = line->next;
        if (!queue->first)
            queue->end = &queue->first;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return line;
}

static void *write_lines(void *argument)
{
    struct write_queue *queue = argument;
    for (;;) {
        struct line *line = take_line(queue);
        if (!line)
            return NULL;
        bool written =
            !write_queue_is_broken(queue) && write_fully(queue->fd, line->text, line->length);
        (void)pthread_mutex_lock(&queue->lock);
        queue->bytes -= line->length;
        queue->broken = queue->broken || !written;
        (void)pthread_cond_broadcast(&queue->changed);
        (void)pthread_mutex_unlock(&queue->lock);
        if (!written)
            event_set(queue->wake_fd);
        free_line(line);
    }
}

struct write_queue *write_queue_new(int fd, int wake_fd, struct failure *failure)
{
    struct write_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) {
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    queue->fd = fd;
    queue->wake_fd = wake_fd;
    queue->end = &queue->first;
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->changed, NULL);
    int error = pthread_create(&queue->thread, NULL, write_lines, queue);
    if (error == 0)
        return queue;
    (void)failure_set_errno(failure, "internal", error, "cannot write to the client");
    free(queue);
    return NULL;
}

/* One line: jansson escapes every line break inside a text. */
static struct line *make_line(const json_t *message)
{
    struct line *line = calloc(1, sizeof(*line));
    char *text = json_compact(message);
    size_t length = text ? strlen(text) : 0;
    char *with_break = text ? realloc(text, length + 1) : NULL;
    if (!line || !with_break) {
        free(with_break ? with_break : text);
        free(line);
        return NULL;
    }
    with_break[length] = '\n'; /* in the place of the NUL */
    *line = (struct line){.length = length + 1, .text = with_break};
    return line;
}

static bool has_room(const struct write_queue *queue, enum write_weight weight)
{
    return queue->bytes < (weight == WRITE_NEEDED ? MOST_UNREAD : MOST_UNREAD_DROPPABLE);
}

bool write_queue_send(struct write_queue *queue, const json_t *message, enum write_weight weight)
{
    struct line *line = make_line(message);
    (void)pthread_mutex_lock(&queue->lock);
    bool queued = line && !queue->broken && !queue->closed && has_room(queue, weight);
    if (queued) {
        *queue->end = line;
        queue->end = &line->next;
        queue->bytes += line->length;
        (void)pthread_cond_broadcast(&queue->changed);
    } else if (weight == WRITE_NEEDED) {
        queue->broken = true;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    if (!queued && line)
        free_line(line);
    return queued;
}

bool write_queue_is_broken(struct write_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    bool broken = queue->broken;
    (void)pthread_mutex_unlock(&queue->lock);
    return broken;
}

void write_queue_drain(struct write_queue *queue, uint64_t deadline_ms)
{
    const struct timespec deadline = deadline_timespec(deadline_ms);
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->bytes > 0 && !queue->broken &&
           pthread_cond_clockwait(&queue->changed, &queue->lock, CLOCK_MONOTONIC, &deadline) == 0)
        continue;
    (void)pthread_mutex_unlock(&queue->lock);
}

void write_queue_free(struct write_queue *queue)
{
    if (!queue)
        return;
    (void)pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    (void)pthread_join(queue->thread, NULL);
    while (queue->first) {
        struct line *line = queue->first;
        queue->first = line->next;
        free_line(line);
    }
    (void)pthread_mutex_destroy(&queue->lock);
    (void)pthread_cond_destroy(&queue->changed);
    free(queue);
}
