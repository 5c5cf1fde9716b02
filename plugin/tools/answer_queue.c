/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for a program: see answer_queue.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "tools/answer_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "tools/tool_frames.h"

#define FIRST_CAPACITY 4096
/* Beside a whole answer: so many bytes of refusals may wait for a program that does not read. */
#define REFUSALS_BYTES ((size_t)256 << 10)

static size_t waiting(const struct answer_queue *queue)
{
    return queue->length - queue->sent;
}

/* Not realloc(): what it leaves behind cannot be wiped. */
static bool reserve(struct answer_queue *queue, size_t more)
{
    size_t wanted = waiting(queue) + more;
    if (queue->capacity - queue->length >= more)
        return true;
    size_t capacity = queue->capacity > 0 ? queue->capacity : FIRST_CAPACITY;
    while (capacity < wanted)
        capacity *= 2;
    unsigned char *larger = malloc(capacity);
    if (!larger)
        return false;
    if (queue->bytes) {
        memcpy(larger, queue->bytes + queue->sent, waiting(queue));
        explicit_bzero(queue->bytes, queue->length);
    }
    free(queue->bytes);
    queue->length = waiting(queue);
    queue->sent = 0;
    queue->bytes = larger;
    queue->capacity = capacity;
    return true;
}

static void append(struct answer_queue *queue, const void *bytes, size_t length)
{
    memcpy(queue->bytes + queue->length, bytes, length);
    queue->length += length;
}

bool answer_queue_begin(struct answer_queue *queue, const struct tool_list *tools,
                        const struct policy_tools *limits)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *frame =
        tool_list_frame(tools, (uint32_t)limits->max_in_flight, &length);
    if (!frame || !reserve(queue, length))
        return false;
    append(queue, frame, length);
    queue->full = length + (size_t)limits->result_bytes + REFUSALS_BYTES;
    return true;
}

void answer_queue_clear(struct answer_queue *queue)
{
    if (queue->bytes)
        explicit_bzero(queue->bytes, queue->length);
    free(queue->bytes);
    *queue = (struct answer_queue){.has_closed = true};
}

void answer_queue_add(struct answer_queue *queue, uint32_t number, const struct tool_answer *answer)
{
    unsigned char head[TOOL_ANSWER_HEADER];
    if (queue->has_closed)
        return;
    if (!reserve(queue, sizeof(head) + answer->length)) {
        answer_queue_clear(queue);
        return;
    }
    tool_answer_frame_header(number, answer, head);
    append(queue, head, sizeof(head));
    append(queue, answer->bytes, answer->length);
    if (answer->form == TOOL_ANSWER_ERROR)
        queue->errors += sizeof(head) + answer->length;
}

void answer_queue_end(struct answer_queue *queue)
{
    queue->is_last = !queue->has_closed;
}

bool answer_queue_has_some(const struct answer_queue *queue)
{
    return waiting(queue) > 0 || queue->is_last;
}

bool answer_queue_is_full(const struct answer_queue *queue)
{
    return waiting(queue) > queue->full;
}

bool answer_queue_is_flooded(const struct answer_queue *queue)
{
    return answer_queue_is_full(queue) && queue->errors > REFUSALS_BYTES;
}

void answer_queue_write(struct answer_queue *queue, int socket)
{
    while (socket >= 0 && waiting(queue) > 0) {
        ssize_t sent =
            send(socket, queue->bytes + queue->sent, waiting(queue), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            answer_queue_clear(queue);
        if (sent <= 0)
            return;
        explicit_bzero(queue->bytes + queue->sent, (size_t)sent);
        queue->sent += (size_t)sent;
        queue->errors -= queue->errors < (size_t)sent ? queue->errors : (size_t)sent;
    }
    if (waiting(queue) == 0) {
        queue->length = 0;
        queue->sent = 0;
    }
    if (socket >= 0 && waiting(queue) == 0 && queue->is_last)
        answer_queue_clear(queue);
    if (socket >= 0 && queue->has_closed)
        (void)shutdown(socket, SHUT_RDWR);
}
