/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of a run's files on its way: bytes that the first process of its sandbox writes once
 * the tree is dead (protocol/file_frames.h). Runs on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct file_stream {
    int fd; /* non-blocking; -1: none, or read to its end */
    /* Takes the next bytes; false: it wants no more. NULL: the run has none. */
    bool (*take)(void *user, const void *bytes, size_t length);
    void *user;
};

/* One read of what is there. */
void file_stream_read(struct file_stream *stream);
/* After the end of the run: reads until the stream ends, takes nothing any more, is silent for
 * longer than a collection may take, or cancel_fd (-1: none) is readable; then closes it. In haste,
 * after a run that was ordered to end, it waits only for what such a collection may take in all. */
void file_stream_finish(struct file_stream *stream, int cancel_fd, bool haste);
