/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the frames of file_frames.h. Runs in the first process of a sandbox, single-threaded, with
 * SIGPIPE ignored. After a failure nothing more is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/file_frames.h"

struct iovec;

/* Where frames go. */
struct file_frame_sink {
    /* Takes all bytes of the parts, which it may change; false: nobody reads any more. */
    bool (*write)(void *user, struct iovec *parts, size_t count);
    void *user;
};

/* To the pipe, whose descriptor outlives the sink. */
struct file_frame_sink file_frames_to_pipe(int *fd);

struct file_frame_writer {
    struct file_frame_sink sink;
    bool failed;        /* nobody reads any more */
    uint64_t waited_us; /* for the reader, in all */
};

void file_frame_begin(struct file_frame_writer *writer, const char *path, uint64_t size,
                      enum file_change change);
void file_frame_data(struct file_frame_writer *writer, const void *bytes, size_t length);
/* sha256 only where the file is whole. */
void file_frame_end(struct file_frame_writer *writer, enum file_omission reason,
                    const char *sha256);
void file_frame_omit(struct file_frame_writer *writer, const char *path, uint64_t size,
                     enum file_change change, enum file_omission reason);
/* Nothing where count is 0. */
void file_frame_omit_files(struct file_frame_writer *writer, uint64_t count, uint64_t bytes,
                           enum file_omission reason);
/* Of which nobody knows how many they are. */
void file_frame_lose_files(struct file_frame_writer *writer, enum file_omission reason);
void file_frame_last(struct file_frame_writer *writer);
