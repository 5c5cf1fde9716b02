/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the way of a message to its guest: see message_sender.h. Runs in a backend of containers. */
#include "backends/guest_runs/container/message_sender.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/common/input_file.h"
#include "base/cleanup.h"

struct message_file {
    struct input_file input;
    uint64_t taken; /* bytes that are sent */
    unsigned char chunk[INPUT_FILE_CHUNK];
    size_t begin; /* of the bytes of the chunk that are not sent yet */
    size_t end;
};

static bool open_file(struct message_sender *sender, const struct run_file *described, int inputs)
{
    struct message_file *file = malloc(sizeof(*file));
    if (!file)
        return false;
    file->begin = file->end = 0;
    file->taken = 0;
    if (input_file_open(inputs, described, &file->input) != 0) {
        int error = errno;
        free(file);
        errno = error;
        return false;
    }
    sender->file = file;
    return true;
}

static void close_file(struct message_sender *sender)
{
    if (!sender->file)
        return;
    input_file_close(&sender->file->input);
    free(TAKE_POINTER(sender->file));
}

/* 1: there are bytes to send; 0: the file is at its end, and closed; -1: it is refused. */
static int next_of_file(struct message_sender *sender, struct message_piece *ret)
{
    struct message_file *file = sender->file;
    if (file->begin == file->end) {
        ssize_t length = input_file_read(&file->input, file->chunk, sizeof(file->chunk));
        if (length < 0)
            return -1;
        file->begin = 0;
        file->end = (size_t)length;
    }
    *ret = (struct message_piece){file->chunk + file->begin, file->end - file->begin};
    if (ret->length > 0)
        return 1;
    close_file(sender);
    sender->filled++;
    return 0;
}

int message_sender_next(struct message_sender *sender, const struct run_message *message,
                        int inputs, struct message_piece *ret)
{
    static const unsigned char zeros[INPUT_FILE_CHUNK];
    while (!sender->over) {
        if (sender->filling > 0) {
            size_t length = sender->filling < sizeof(zeros) ? sender->filling : sizeof(zeros);
            *ret = (struct message_piece){zeros, length};
            return 1;
        }
        if (sender->file) {
            int outcome = next_of_file(sender, ret);
            if (outcome != 0)
                return outcome;
        }
        bool has_gap = sender->filled < message->gap_count;
        size_t until = has_gap ? message->gaps[sender->filled].offset : message->length;
        if (sender->sent < until) {
            *ret = (struct message_piece){message->bytes + sender->sent, until - sender->sent};
            return 1;
        }
        if (!has_gap)
            sender->over = true;
        else if (!open_file(sender, message->gaps[sender->filled].file, inputs))
            return -1;
    }
    return 0;
}

void message_sender_fill(struct message_sender *sender, const struct run_message *message)
{
    uint64_t taken = sender->file ? sender->file->taken : 0;
    close_file(sender);
    sender->filling = message->gaps[sender->filled++].file->length - taken;
}

void message_sender_take(struct message_sender *sender, size_t count)
{
    sender->total += count;
    if (sender->filling > 0) {
        sender->filling -= count;
    } else if (sender->file) {
        sender->file->begin += count;
        sender->file->taken += count;
    } else {
        sender->sent += count;
    }
}

void message_sender_close(struct message_sender *sender)
{
    close_file(sender);
    sender->over = true;
}
