/* SPDX-License-Identifier: Apache-2.0 */
/* Collects output and sends it at a bounded rate. The thread of the call, and the main thread. */
#include "mcp/progress.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/utf8.h"
#include "mcp/connection.h"
#include "mcp/wire/json_rpc.h"

void progress_start(struct progress *progress, bool wanted)
{
    *progress = (struct progress){.wanted = wanted};
    (void)pthread_mutex_init(&progress->lock, NULL);
}

static void keep_latest(struct progress *progress, const char *bytes, size_t length)
{
    progress->bytes += length;
    if (length > sizeof(progress->text)) {
        bytes += length - sizeof(progress->text);
        length = sizeof(progress->text);
    }
    size_t room = sizeof(progress->text) - progress->length;
    if (length > room) {
        size_t dropped = length - room;
        memmove(progress->text, progress->text + dropped, progress->length - dropped);
        progress->length -= dropped;
    }
    memcpy(progress->text + progress->length, bytes, length);
    progress->length += length;
}

static int send_due(struct progress *progress, struct connection *connection, const json_t *token)
{
    if (progress->ended || progress->bytes == progress->sent_bytes)
        return -1;
    uint64_t due = progress->sent_ms + PROGRESS_EVERY_MS;
    uint64_t now = monotonic_ms();
    if (now < due)
        return (int)(due - now);
    const unsigned char *text = (const unsigned char *)progress->text;
    size_t whole = utf8_whole_prefix(text, progress->length);
    size_t clean_length = 0;
    bool replaced = false;
    CLEANUP_FREE char *clean = utf8_sanitize(text, whole, &clean_length, &replaced);
    json_t *params = json_pack("{s:o, s:I, s:o}", "progressToken", json_deep_copy(token),
                               "progress", (json_int_t)progress->bytes, "message",
                               clean ? json_stringn(clean, clean_length) : NULL);
    connection_send(connection, rpc_notification("notifications/progress", params),
                    WRITE_DROPPABLE);
    progress->sent_ms = now;
    progress->sent_bytes = progress->bytes;
    progress->length -= whole; /* an incomplete character waits for its rest */
    memmove(progress->text, progress->text + whole, progress->length);
    return -1;
}

bool progress_add(struct progress *progress, struct connection *connection, const json_t *token,
                  const void *bytes, size_t length, bool is_line)
{
    if (!progress->wanted || length == 0)
        return false;
    (void)pthread_mutex_lock(&progress->lock);
    keep_latest(progress, bytes, length);
    if (is_line)
        keep_latest(progress, "\n", 1);
    bool waits = send_due(progress, connection, token) >= 0;
    (void)pthread_mutex_unlock(&progress->lock);
    return waits;
}

int progress_tend(struct progress *progress, struct connection *connection, const json_t *token)
{
    if (!progress->wanted)
        return -1;
    (void)pthread_mutex_lock(&progress->lock);
    int next = send_due(progress, connection, token);
    (void)pthread_mutex_unlock(&progress->lock);
    return next;
}

void progress_end(struct progress *progress)
{
    (void)pthread_mutex_lock(&progress->lock);
    progress->ended = true;
    (void)pthread_mutex_unlock(&progress->lock);
}

void progress_clear(struct progress *progress)
{
    (void)pthread_mutex_destroy(&progress->lock);
}
