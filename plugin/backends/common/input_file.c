/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a file by reference: see input_file.h. */
#include "backends/common/input_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/channel.h"

int input_file_open(int inputs, const struct run_file *file, struct input_file *ret)
{
    char nothing;
    int fd = -1;
    size_t count = 0;
    ssize_t length = channel_receive(inputs, &nothing, sizeof(nothing), &fd, 1, &count);
    if (length < 0)
        return -1;
    if (count != 1) {
        errno = EBADMSG;
        return -1;
    }
    *ret = (struct input_file){.file = file, .fd = fd};
    sha256_begin(&ret->hash);
    return 0;
}

static ssize_t refuse(int error_number)
{
    errno = error_number;
    return -1;
}

static ssize_t check_end(struct input_file *input)
{
    char sha256[SHA256_TEXT_LENGTH + 1];
    sha256_end(&input->hash, sha256);
    bool same = input->done == input->file->length && strcmp(sha256, input->file->sha256) == 0;
    return same ? 0 : refuse(0);
}

/* Up to the described length, and a byte more to see that it ends there. By position: the gateway
 * may have other descriptors of the same opening. */
ssize_t input_file_read(struct input_file *input, void *bytes, size_t capacity)
{
    uint64_t left = input->file->length + 1 - input->done;
    ssize_t length;
    do
        length = pread(input->fd, bytes, left < capacity ? left : capacity, (off_t)input->done);
    while (length < 0 && errno == EINTR);
    if (length < 0)
        return refuse(errno);
    if (length == 0)
        return check_end(input);
    input->done += (uint64_t)length;
    if (input->done > input->file->length)
        return refuse(0);
    sha256_add(&input->hash, bytes, (size_t)length);
    return length;
}

void input_file_close(struct input_file *input)
{
    close_fd(TAKE_FD(input->fd));
}
