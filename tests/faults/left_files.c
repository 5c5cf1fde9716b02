/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the judgement of files from a failing sandbox: see left_files.h. */
#include "left_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../process/backend/harness.h"
#include "base/cleanup.h"
#include "base/sha256.h"
#include "inside_files.h"
#include "protocol/file_frames.h"

#define BYTES_LIMIT (UINT64_C(2) * (INSIDE_LARGE + INSIDE_SMALL))

static int sent_end = -1;

/* Of the stream, while it is looked through. */
struct judgement {
    const char *complaint;
    char path[64];
    struct sha256 hash;
    size_t size;
    size_t whole;
    size_t told; /* as missing, by name or number: a directory that cannot be read counts once */
    bool is_last;
};

void left_files_expect(struct left_files *ret, struct run_description *description)
{
    int ends[2];
    *ret = (struct left_files){.bytes = malloc(BYTES_LIMIT)};
    if (!ret->bytes || pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        abort();
    ret->pipe = ends[0];
    sent_end = ends[1];
    harness_take_files(sent_end);
    description->outputs = (struct run_outputs){
        .files = 10, .file_bytes = BYTES_LIMIT, .total_bytes = BYTES_LIMIT, .patterns = NULL};
}

void left_files_sent(void)
{
    harness_take_files(-1);
    close_fd(TAKE_FD(sent_end));
}

void left_files_read(struct left_files *files)
{
    while (files->pipe >= 0) {
        ssize_t length =
            read(files->pipe, files->bytes + files->length, BYTES_LIMIT - files->length);
        if (length < 0 && errno == EAGAIN)
            return;
        if (length <= 0)
            close_fd(TAKE_FD(files->pipe));
        else
            files->length += (size_t)length;
    }
}

void left_files_clear(struct left_files *files)
{
    close_fd(TAKE_FD(files->pipe));
    free(files->bytes);
    *files = (struct left_files){.pipe = -1};
}

static uint64_t number_at(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

/* Any other is the run's own, which could not be compared. */
static bool is_program_s(const struct judgement *judgement)
{
    return strcmp(judgement->path, INSIDE_LARGE_NAME) == 0 ||
           strcmp(judgement->path, INSIDE_SMALL_NAME) == 0;
}

static void end_file(struct judgement *judgement, const unsigned char *payload)
{
    char sum[SHA256_TEXT_LENGTH + 1];
    sha256_end(&judgement->hash, sum);
    if (payload[0] != FILE_WHOLE) {
        judgement->told++;
        return;
    }
    if (memcmp(sum, payload + 1, SHA256_TEXT_LENGTH) != 0)
        judgement->complaint = "the hash is not that of the bytes";
    if (!is_program_s(judgement))
        return;
    if (judgement->size !=
        (judgement->path[0] == INSIDE_LARGE_NAME[0] ? INSIDE_LARGE : INSIDE_SMALL))
        judgement->complaint = "a file that is told as whole is not";
    judgement->whole++;
}

static void take_data(struct judgement *judgement, const unsigned char *payload, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (payload[i] != INSIDE_BYTE && is_program_s(judgement))
            judgement->complaint = "a byte is not the program's";
    sha256_add(&judgement->hash, payload, length);
    judgement->size += length;
}

static void take_frame(struct judgement *judgement, unsigned char kind,
                       const unsigned char *payload, size_t length)
{
    switch ((enum file_frame)kind) {
    case FILE_FRAME_BEGIN:
        sha256_begin(&judgement->hash);
        judgement->size = 0;
        (void)snprintf(judgement->path, sizeof(judgement->path), "%.*s",
                       (int)(length - FILE_FRAME_FIXED), (const char *)payload + FILE_FRAME_FIXED);
        break;
    case FILE_FRAME_DATA:
        take_data(judgement, payload, length);
        break;
    case FILE_FRAME_END:
        end_file(judgement, payload);
        break;
    case FILE_FRAME_OMITTED:
        judgement->told++;
        break;
    case FILE_FRAME_FILES_OMITTED:
        judgement->told += number_at(payload, 8);
        break;
    case FILE_FRAME_LAST:
        judgement->is_last = true;
        break;
    default:
        judgement->complaint = "a frame of no kind";
    }
}

const char *left_files_judge(const struct left_files *files, bool *ret_all)
{
    struct judgement judgement = {.complaint = NULL};
    size_t at = 0;
    while (files->length - at >= FILE_FRAME_HEADER) {
        size_t length = (size_t)number_at(files->bytes + at, 4);
        const unsigned char *payload = files->bytes + at + FILE_FRAME_HEADER;
        if (length > files->length - at - FILE_FRAME_HEADER)
            break;
        take_frame(&judgement, files->bytes[at + 4], payload, length);
        at += FILE_FRAME_HEADER + length;
    }
    *ret_all = judgement.is_last && judgement.whole == INSIDE_FILES && at == files->length;
    if (!judgement.complaint && judgement.is_last && judgement.whole < INSIDE_FILES &&
        judgement.told == 0)
        return "a file is missing and nothing says so";
    return judgement.complaint;
}
