/* SPDX-License-Identifier: Apache-2.0 */
/* The lines and their turns. Pure code; runs in the gateway, under the lock of admission.c. */
#include "admission/run_queue.h"

#include <stddef.h>
#include <string.h>

/* No principal is not the same as a principal with an empty name. */
static bool same_principal(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

/* Where the pointer to the principal's line is, or would be: behind all others. */
static struct run_queue_entry **find_line(struct run_queue *queue, const char *principal)
{
    struct run_queue_entry **line = &queue->lines;
    while (*line && !same_principal((*line)->principal, principal))
        line = &(*line)->next_line;
    return line;
}

static struct run_queue_entry **find_end(struct run_queue *queue)
{
    struct run_queue_entry **line = &queue->lines;
    while (*line)
        line = &(*line)->next_line;
    return line;
}

/* Removes the first call of a line; the next one then represents the line. */
static struct run_queue_entry *take_first(struct run_queue *queue, struct run_queue_entry **line)
{
    struct run_queue_entry *first = *line;
    struct run_queue_entry *second = first->next;
    if (second) {
        second->next_line = first->next_line;
        second->last = first->last;
        second->length = first->length - 1;
    }
    *line = second ? second : first->next_line;
    queue->queued--;
    return first;
}

static void take_behind(struct run_queue *queue, struct run_queue_entry *first,
                        struct run_queue_entry *entry)
{
    struct run_queue_entry *before = first;
    while (before->next != entry)
        before = before->next;
    before->next = entry->next;
    if (first->last == entry)
        first->last = before;
    first->length--;
    queue->queued--;
}

static void append(struct run_queue *queue, struct run_queue_entry *entry)
{
    struct run_queue_entry **line = find_line(queue, entry->principal);
    entry->next = NULL;
    queue->queued++;
    if (*line) {
        (*line)->last->next = entry;
        (*line)->last = entry;
        (*line)->length++;
        return;
    }
    entry->next_line = NULL;
    entry->last = entry;
    entry->length = 1;
    *line = entry;
}

/* The last call of the longest line, if giving its slot to that principal makes the lines more
 * equal. */
static struct run_queue_entry *find_displaced(struct run_queue *queue, const char *principal)
{
    const struct run_queue_entry *own = *find_line(queue, principal);
    const struct run_queue_entry *longest = queue->lines;
    for (const struct run_queue_entry *line = longest; line; line = line->next_line)
        if (line->length > longest->length)
            longest = line;
    if (!longest || longest->length <= (own ? own->length : 0) + 1)
        return NULL;
    return longest->last;
}

/* Smaller calls do not overtake one that waits for memory: it would wait for ever. */
static bool has_room(const struct run_queue *queue, const struct run_queue_entry *entry)
{
    return queue->running < entry->max_runs &&
           (entry->memory_total_bytes == 0 ||
            queue->memory_bytes + entry->memory_bytes <= entry->memory_total_bytes);
}

static void start(struct run_queue *queue, const struct run_queue_entry *entry)
{
    queue->running++;
    queue->memory_bytes += entry->memory_bytes;
}

enum run_queue_verdict run_queue_enter(struct run_queue *queue, struct run_queue_entry *entry,
                                       uint64_t max_queued, struct run_queue_entry **ret_displaced)
{
    *ret_displaced = NULL;
    if (queue->queued == 0 && has_room(queue, entry)) {
        start(queue, entry);
        return RUN_QUEUE_RUNS;
    }
    if (queue->queued >= max_queued) {
        struct run_queue_entry *displaced = find_displaced(queue, entry->principal);
        if (!displaced)
            return RUN_QUEUE_FULL;
        run_queue_remove(queue, displaced);
        *ret_displaced = displaced;
    }
    append(queue, entry);
    return RUN_QUEUE_WAITS;
}

struct run_queue_entry *run_queue_next(struct run_queue *queue)
{
    struct run_queue_entry *line = queue->lines;
    if (!line || !has_room(queue, line))
        return NULL;
    struct run_queue_entry *first = take_first(queue, &queue->lines);
    if (first->next) {
        struct run_queue_entry *rest = queue->lines;
        queue->lines = rest->next_line;
        rest->next_line = NULL;
        *find_end(queue) = rest;
    }
    start(queue, first);
    return first;
}

void run_queue_remove(struct run_queue *queue, struct run_queue_entry *entry)
{
    struct run_queue_entry **line = find_line(queue, entry->principal);
    if (*line == entry)
        (void)take_first(queue, line);
    else if (*line)
        take_behind(queue, *line, entry);
}

void run_queue_leave(struct run_queue *queue, const struct run_queue_entry *entry)
{
    queue->running--;
    queue->memory_bytes -= entry->memory_bytes;
}

void run_queue_visit(const struct run_queue *queue, void (*visit)(struct run_queue_entry *entry))
{
    for (struct run_queue_entry *line = queue->lines; line; line = line->next_line)
        for (struct run_queue_entry *entry = line; entry; entry = entry->next)
            visit(entry);
}
