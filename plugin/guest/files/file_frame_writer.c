/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the writing of frames: see file_frame_writer.h. Runs in the first process of a sandbox. */
#include "guest/files/file_frame_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/files/file_walk.h"

#define PIPE_BYTES (1 << 18) /* at 64 KiB the writer waits for the reader and the reader for it */

static void put_number(unsigned char *place, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        place[i] = (unsigned char)(number >> (8 * i));
}

/* Takes what was written off the front of the parts. */
static void advance(struct iovec *parts, size_t count, size_t written)
{
    for (size_t i = 0; i < count; i++) {
        size_t taken = written < parts[i].iov_len ? written : parts[i].iov_len;
        parts[i].iov_base = (char *)parts[i].iov_base + taken;
        parts[i].iov_len -= taken;
        written -= taken;
    }
}

static bool write_to_pipe(void *user, struct iovec *parts, size_t count)
{
    const int *fd = user;
    size_t rest = 0;
    for (size_t i = 0; i < count; i++)
        rest += parts[i].iov_len;
    while (rest > 0) {
        ssize_t written = writev(*fd, parts, (int)count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        advance(parts, count, (size_t)written);
        rest -= (size_t)written;
    }
    return true;
}

struct file_frame_sink file_frames_to_pipe(int *fd)
{
    (void)fcntl(*fd, F_SETPIPE_SZ, PIPE_BYTES);
    return (struct file_frame_sink){write_to_pipe, fd};
}

static void write_parts(struct file_frame_writer *writer, struct iovec *parts, size_t count)
{
    uint64_t before = file_walk_now_us();
    writer->failed = writer->failed || !writer->sink.write(writer->sink.user, parts, count);
    writer->waited_us += file_walk_now_us() - before;
}

static void write_frame(struct file_frame_writer *writer, enum file_frame kind, const void *fixed,
                        size_t fixed_length, const void *rest, size_t rest_length)
{
    unsigned char header[FILE_FRAME_HEADER];
    struct iovec parts[] = {
        {header, sizeof(header)},
        {(void *)(uintptr_t)fixed, fixed_length},
        {(void *)(uintptr_t)rest, rest_length},
    };
    put_number(header, fixed_length + rest_length, 4);
    header[4] = (unsigned char)kind;
    write_parts(writer, parts, COUNT_OF(parts));
}

static void write_file(struct file_frame_writer *writer, enum file_frame kind, const char *path,
                       uint64_t size, enum file_change change, enum file_omission reason)
{
    unsigned char fixed[FILE_FRAME_FIXED];
    put_number(fixed, size, 8);
    fixed[8] = (unsigned char)change;
    fixed[9] = (unsigned char)reason;
    write_frame(writer, kind, fixed, sizeof(fixed), path, strlen(path));
}

void file_frame_begin(struct file_frame_writer *writer, const char *path, uint64_t size,
                      enum file_change change)
{
    write_file(writer, FILE_FRAME_BEGIN, path, size, change, FILE_WHOLE);
}

void file_frame_data(struct file_frame_writer *writer, const void *bytes, size_t length)
{
    write_frame(writer, FILE_FRAME_DATA, "", 0, bytes, length);
}

void file_frame_end(struct file_frame_writer *writer, enum file_omission reason, const char *sha256)
{
    const unsigned char fixed = (unsigned char)reason;
    bool whole = reason == FILE_WHOLE;
    write_frame(writer, FILE_FRAME_END, &fixed, sizeof(fixed), whole ? sha256 : "",
                whole ? FILE_FRAME_HASH : 0);
}

void file_frame_omit(struct file_frame_writer *writer, const char *path, uint64_t size,
                     enum file_change change, enum file_omission reason)
{
    write_file(writer, FILE_FRAME_OMITTED, path, size, change, reason);
}

static void write_files_omitted(struct file_frame_writer *writer, uint64_t count, uint64_t bytes,
                                enum file_omission reason)
{
    unsigned char fixed[17];
    put_number(&fixed[0], count, 8);
    put_number(&fixed[8], bytes, 8);
    fixed[16] = (unsigned char)reason;
    write_frame(writer, FILE_FRAME_FILES_OMITTED, fixed, sizeof(fixed), "", 0);
}

void file_frame_omit_files(struct file_frame_writer *writer, uint64_t count, uint64_t bytes,
                           enum file_omission reason)
{
    if (count > 0)
        write_files_omitted(writer, count, bytes, reason);
}

void file_frame_lose_files(struct file_frame_writer *writer, enum file_omission reason)
{
    write_files_omitted(writer, 0, 0, reason);
}

void file_frame_last(struct file_frame_writer *writer)
{
    write_frame(writer, FILE_FRAME_LAST, "", 0, "", 0);
}
