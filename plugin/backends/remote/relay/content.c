/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the files that come with a datagram, until they are whole: sealed memfds of the worker's. A
 * run's description is kept as bytes until the owner has seen it. A file that became shorter on the
 * way is handed over as it came; the comparison with its description reports that. Runs in
 * code-execute-worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/remote/relay/relay.h"
#include "base/cleanup.h"
#include "protocol/run_description.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

void content_clear(struct content *content)
{
    if (content->bytes) {
        explicit_bzero(content->bytes, (size_t)content->size);
        free(content->bytes);
    }
    close_fd(TAKE_FD(content->memfd));
    content->bytes = NULL;
}

bool content_begin(struct channel *channel, struct block *block, size_t index, uint64_t size)
{
    struct content *content = &channel->content;
    *content = (struct content){.index = index, .size = size, .memfd = -1};
    if (channel->place == RUN_FD_DESCRIPTION) {
        content->bytes = size <= RUN_DESCRIPTION_LIMIT ? malloc((size_t)size + 1) : NULL;
        if (!content->bytes)
            return false;
    } else {
        content->memfd = memfd_create("code-execute-file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (content->memfd < 0)
            return false;
    }
    content->block = block;
    block->missing++;
    return true;
}

static bool write_at(int fd, const unsigned char *bytes, size_t length, uint64_t offset)
{
    while (length > 0) {
        ssize_t count = pwrite(fd, bytes, length, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        length -= (size_t)count;
        offset += (uint64_t)count;
    }
    return true;
}

/* The datagram that waits for it cannot be delivered. */
static void give_up(struct channel *channel)
{
    struct block *block = channel->content.block;
    if (block) {
        block->failed = true;
        block->missing--;
        channel->content.block = NULL;
    }
    channel_reset(channel);
    if (block)
        lane_go_on(block->channel->lane);
}

bool content_take(struct channel *channel, const unsigned char *bytes, size_t length)
{
    struct content *content = &channel->content;
    if (channel->end_sent)
        return true; /* of what this side has reset */
    if (length > content->size - content->done)
        return connection_break(channel->run->link->connection,
                                "more of a file than was announced");
    bool is_kept = true;
    if (content->bytes)
        memcpy(content->bytes + content->done, bytes, length);
    else if (content->memfd >= 0)
        is_kept = write_at(content->memfd, bytes, length, content->done);
    content->done += length;
    if (is_kept)
        channel_took(channel, (uint32_t)length);
    else
        give_up(channel);
    return true;
}

/* The owner has its say. */
static int seal_description(struct channel *channel)
{
    struct content *content = &channel->content;
    struct run *run = channel->run;
    struct link *link = run->link;
    bool is_first = content->block->channel == run->channel && run->channel->fd < 0;
    bool (*describe)(void *, struct link *, uint32_t, unsigned char **, size_t *) =
        is_first ? link->handler->describe : link->handler->describe_further;
    unsigned char *bytes = TAKE_POINTER(content->bytes);
    size_t length = (size_t)content->done;
    bool is_fine = !describe || describe(link->user, link, run->number, &bytes, &length);
    CLEANUP_CLOSE int fd =
        is_fine ? memfd_create("code-execute-run", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    if (fd >= 0 && (!write_at(fd, bytes, length, 0) || fcntl(fd, F_ADD_SEALS, SEALS) != 0))
        close_fd(TAKE_FD(fd));
    if (bytes)
        explicit_bzero(bytes, length);
    free(bytes);
    return TAKE_FD(fd);
}

void content_end(struct channel *channel)
{
    struct content *content = &channel->content;
    struct block *block = content->block;
    channel->end_received = true;
    if (!block) {
        channel_end(channel, REMOTE_RESET);
        return;
    }
    int fd = -1;
    if (content->bytes)
        fd = seal_description(channel);
    else if (fcntl(content->memfd, F_ADD_SEALS, SEALS) == 0)
        fd = TAKE_FD(content->memfd);
    if (fd < 0) {
        give_up(channel);
        return;
    }
    content->block = NULL;
    block->fds[content->index] = fd;
    block->missing--;
    channel_end(channel, REMOTE_END);
    lane_go_on(block->channel->lane);
}
