/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of one client's messages and the thread that writes it. Any thread. */
#include "mcp/wire/outbox.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json_text.h"
#include "base/monotonic_clock.h"

#define MOST_UNREAD           (64u << 20)
#define MOST_UNREAD_DROPPABLE (1u << 20)

struct line {
    struct line *next;
    size_t length;
    char *text; /* with its line break */
};

struct outbox {
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

static struct line *take_line(struct outbox *outbox)
{
    (void)pthread_mutex_lock(&outbox->lock);
    while (!outbox->first && !outbox->closed)
        (void)pthread_cond_wait(&outbox->changed, &outbox->lock);
    struct line *line = outbox->closed ? NULL : outbox->first;
    if (line) {
        outbox->first = line->next;
        if (!outbox->first)
            outbox->end = &outbox->first;
    }
    (void)pthread_mutex_unlock(&outbox->lock);
    return line;
}

static void wake(const struct outbox *outbox)
{
    uint64_t one = 1;
    (void)!write(outbox->wake_fd, &one, sizeof(one));
}

static void *write_lines(void *argument)
{
    struct outbox *outbox = argument;
    for (;;) {
        struct line *line = take_line(outbox);
        if (!line)
            return NULL;
        bool written =
            !outbox_is_broken(outbox) && write_fully(outbox->fd, line->text, line->length);
        (void)pthread_mutex_lock(&outbox->lock);
        outbox->bytes -= line->length;
        outbox->broken = outbox->broken || !written;
        (void)pthread_cond_broadcast(&outbox->changed);
        (void)pthread_mutex_unlock(&outbox->lock);
        if (!written)
            wake(outbox);
        free_line(line);
    }
}

struct outbox *outbox_new(int fd, int wake_fd, struct failure *failure)
{
    struct outbox *outbox = calloc(1, sizeof(*outbox));
    if (!outbox) {
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    outbox->fd = fd;
    outbox->wake_fd = wake_fd;
    outbox->end = &outbox->first;
    (void)pthread_mutex_init(&outbox->lock, NULL);
    (void)pthread_cond_init(&outbox->changed, NULL);
    int error = pthread_create(&outbox->thread, NULL, write_lines, outbox);
    if (error == 0)
        return outbox;
    (void)failure_set_errno(failure, "internal", error, "cannot write to the client");
    free(outbox);
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

static bool has_room(const struct outbox *outbox, enum outbox_weight weight)
{
    return outbox->bytes < (weight == OUTBOX_NEEDED ? MOST_UNREAD : MOST_UNREAD_DROPPABLE);
}

bool outbox_send(struct outbox *outbox, const json_t *message, enum outbox_weight weight)
{
    struct line *line = make_line(message);
    (void)pthread_mutex_lock(&outbox->lock);
    bool queued = line && !outbox->broken && !outbox->closed && has_room(outbox, weight);
    if (queued) {
        *outbox->end = line;
        outbox->end = &line->next;
        outbox->bytes += line->length;
        (void)pthread_cond_broadcast(&outbox->changed);
    } else if (weight == OUTBOX_NEEDED) {
        outbox->broken = true;
    }
    (void)pthread_mutex_unlock(&outbox->lock);
    if (!queued && line)
        free_line(line);
    return queued;
}

bool outbox_is_broken(struct outbox *outbox)
{
    (void)pthread_mutex_lock(&outbox->lock);
    bool broken = outbox->broken;
    (void)pthread_mutex_unlock(&outbox->lock);
    return broken;
}

void outbox_drain(struct outbox *outbox, int64_t deadline_ms)
{
    struct timespec deadline = {.tv_sec = deadline_ms / 1000,
                                .tv_nsec = (deadline_ms % 1000) * 1000000};
    (void)pthread_mutex_lock(&outbox->lock);
    while (outbox->bytes > 0 && !outbox->broken &&
           pthread_cond_clockwait(&outbox->changed, &outbox->lock, CLOCK_MONOTONIC, &deadline) == 0)
        continue;
    (void)pthread_mutex_unlock(&outbox->lock);
}

void outbox_free(struct outbox *outbox)
{
    if (!outbox)
        return;
    (void)pthread_mutex_lock(&outbox->lock);
    outbox->closed = true;
    (void)pthread_cond_broadcast(&outbox->changed);
    (void)pthread_mutex_unlock(&outbox->lock);
    (void)pthread_join(outbox->thread, NULL);
    while (outbox->first) {
        struct line *line = outbox->first;
        outbox->first = line->next;
        free_line(line);
    }
    (void)pthread_mutex_destroy(&outbox->lock);
    (void)pthread_cond_destroy(&outbox->changed);
    free(outbox);
}
