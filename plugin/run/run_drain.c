/* SPDX-License-Identifier: Apache-2.0 */
/* The pipes of a run: see run_drain.h. Runs in the gateway, on the thread inside tool_invoke(). */
#include "run/run_drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/host.h"

#define CHUNK_BYTES    65536
#define IN_PLACE_BYTES 16384 /* fewer than these are too few for a read of a flood */

static void tell_host(const struct run_stream *stream, const void *bytes, size_t length)
{
    if (!stream->mute)
        host_output(stream->host, stream->id, bytes, length);
}

static void pass_on(void *user, const void *bytes, size_t length)
{
    struct run_stream *stream = user;
    output_capture_add(&stream->capture, bytes, length);
    tell_host(stream, bytes, length);
}

/* Where the stream is kept, for a read without a copy in between. 0: it has to be looked through
 * for secrets first, or there is no place, or too small a one for the rest of a flood. */
static int find_places(struct run_stream *stream, struct iovec ret[2])
{
    if (!redaction_empty(stream->redaction.redaction))
        return 0;
    int count = output_capture_places(&stream->capture, ret);
    size_t room = count > 0 ? ret[0].iov_len : 0;
    room += count > 1 ? ret[1].iov_len : 0;
    bool is_flood = stream->capture.total >= stream->capture.limit;
    return is_flood && room < IN_PLACE_BYTES ? 0 : count;
}

static void check_output_limit(struct run_drain *drain)
{
    uint64_t limit = drain->run->output_limit;
    if (limit > 0 && drain->produced + drain->framed > limit)
        drain->too_much(drain);
}

static bool is_open_after(ssize_t length)
{
    return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
}

static struct iovec plain_chunk(struct run_drain *drain)
{
    if (!drain->chunk)
        drain->chunk = malloc(CHUNK_BYTES);
    if (!drain->chunk)
        return (struct iovec){drain->spare, sizeof(drain->spare)};
    return (struct iovec){drain->chunk, CHUNK_BYTES};
}

/* Where there are secrets, in the locked memory of the stream's redaction. */
static struct iovec find_chunk(struct run_drain *drain, struct run_stream *stream)
{
    if (!redaction_empty(stream->redaction.redaction)) {
        void *room = redaction_room(&stream->redaction, CHUNK_BYTES);
        return room ? (struct iovec){room, CHUNK_BYTES}
                    : (struct iovec){drain->spare, sizeof(drain->spare)};
    }
    return plain_chunk(drain);
}

/* What was read to where it is kept. */
static void keep_in_place(struct run_stream *stream, const struct iovec places[2], size_t length)
{
    size_t first = length < places[0].iov_len ? length : places[0].iov_len;
    output_capture_put(&stream->capture, length);
    tell_host(stream, places[0].iov_base, first);
    if (length > first)
        tell_host(stream, places[1].iov_base, length - first);
}

/* What was read to where find_chunk() said. */
static void keep_chunk(struct run_drain *drain, struct run_stream *stream,
                       const struct iovec *place, size_t length)
{
    bool is_room = !redaction_empty(stream->redaction.redaction) && place->iov_base != drain->spare;
    if (is_room)
        redaction_take(&stream->redaction, length, pass_on, stream);
    else
        redaction_feed(&stream->redaction, place->iov_base, length, pass_on, stream);
}

bool run_drain_stream(struct run_drain *drain, int *fd, struct run_stream *stream)
{
    struct iovec places[2];
    if (*fd < 0)
        return false;
    int count = find_places(stream, places);
    bool in_place = count > 0;
    if (!in_place)
        places[0] = find_chunk(drain, stream);
    ssize_t length = readv(*fd, places, in_place ? count : 1);
    if (length > 0) {
        drain->produced += (uint64_t)length;
        if (in_place)
            keep_in_place(stream, places, (size_t)length);
        else
            keep_chunk(drain, stream, &places[0], (size_t)length);
        check_output_limit(drain);
        return true;
    }
    if (!is_open_after(length))
        close_fd(TAKE_FD(*fd));
    return false;
}

bool run_drain_results(struct run_drain *drain)
{
    struct iovec place = plain_chunk(drain);
    ssize_t length = readv(drain->backend->results_fd, &place, 1);
    if (length > 0) {
        drain->framed += (uint64_t)length;
        frame_reader_feed(&drain->run->results, place.iov_base, (size_t)length);
        explicit_bzero(place.iov_base, (size_t)length); /* not looked through for secrets yet */
        check_output_limit(drain);
        return true;
    }
    if (!is_open_after(length))
        close_fd(TAKE_FD(drain->backend->results_fd));
    return false;
}

/* As drain_pipe(). */
static void drain_frames(struct run_drain *drain)
{
    int there = 0;
    if (drain->backend->results_fd < 0 || ioctl(drain->backend->results_fd, FIONREAD, &there) != 0)
        return;
    uint64_t end = drain->framed + (uint64_t)there;
    while (drain->backend->results_fd >= 0 && drain->framed < end && run_drain_results(drain))
        continue;
}

/* What is in the pipe now, and no more: a program whose backend is silent, or lied about its end,
 * goes on printing. */
static void drain_pipe(struct run_drain *drain, int *fd, struct run_stream *stream)
{
    int there = 0;
    if (*fd < 0 || ioctl(*fd, FIONREAD, &there) != 0)
        return;
    uint64_t end = drain->produced + (uint64_t)there;
    while (drain->produced < end && run_drain_stream(drain, fd, stream))
        continue;
}

void run_drain_rest(struct run_drain *drain)
{
    drain_pipe(drain, &drain->backend->stdout_fd, &drain->run->output);
    drain_pipe(drain, &drain->backend->stderr_fd, &drain->run->errors);
    drain_frames(drain);
    redaction_flush(&drain->run->output.redaction, pass_on, &drain->run->output);
    redaction_flush(&drain->run->errors.redaction, pass_on, &drain->run->errors);
}

void run_drain_clear(struct run_drain *drain)
{
    free(TAKE_POINTER(drain->chunk));
    explicit_bzero(drain->spare, sizeof(drain->spare)); /* of output that was not looked through */
}
