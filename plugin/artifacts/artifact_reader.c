/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of frames: see artifact_reader.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "artifacts/artifact_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/utf8.h"
#include "base/write_fully.h"
#include "protocol/run_description.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static uint64_t get_number(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

static bool has_secrets(const struct artifact_reader *reader)
{
    return reader->settings.redaction && !redaction_empty(reader->settings.redaction);
}

/* Else the one that came is of the bytes as they are. */
static bool makes_hash(const struct artifact_reader *reader)
{
    return reader->settings.hashes || has_secrets(reader);
}

/* C0 and C1 controls, and what turns the direction of a line. */
static bool is_harmless(const unsigned char *sequence, size_t length)
{
    if (length == 1)
        return sequence[0] >= 0x20 && sequence[0] != 0x7f;
    if (length == 2)
        return sequence[0] != 0xc2 || sequence[1] >= 0xa0;
    if (length == 3 && sequence[0] == 0xe2 && sequence[1] == 0x80)
        return sequence[2] != 0xa8 && sequence[2] != 0xa9 &&
               (sequence[2] < 0xaa || sequence[2] > 0xae);
    return length != 3 || sequence[0] != 0xe2 || sequence[1] != 0x81 || sequence[2] < 0xa6 ||
           sequence[2] > 0xa9;
}

/* new; NULL when out of memory. */
static char *printable_path(const unsigned char *path, size_t length, bool *ret_safe)
{
    char *text = malloc(length * 4 + 1);
    size_t used = 0;
    *ret_safe = true;
    for (size_t i = 0; text && i < length;) {
        size_t sequence = utf8_sequence(&path[i], length - i);
        if (sequence > 0 && is_harmless(&path[i], sequence)) {
            memcpy(&text[used], &path[i], sequence);
            used += sequence;
            i += sequence;
            continue;
        }
        *ret_safe = false;
        used += (size_t)snprintf(&text[used], 5, "\\x%02x", path[i++]);
    }
    if (text)
        text[used] = '\0';
    return text;
}

static void clear_draft(struct artifact_draft *draft)
{
    artifact_clear(&draft->artifact);
    close_fd(draft->memfd);
    redaction_stream_clear(&draft->redaction);
    *draft = (struct artifact_draft){.memfd = -1};
}

/* Hands over no content from now on. */
static void omit(struct artifact_draft *draft, enum file_omission reason)
{
    if (draft->artifact.omission == FILE_WHOLE)
        draft->artifact.omission = reason;
    draft->in_memory = false;
    close_fd(TAKE_FD(draft->memfd));
    if (draft->artifact.content)
        explicit_bzero(draft->artifact.content, draft->stored);
    free(TAKE_POINTER(draft->artifact.content));
}

static uint64_t inline_rest(const struct artifact_reader *reader)
{
    return reader->settings.inline_bytes - reader->inline_total;
}

static void prepare_place(struct artifact_reader *reader, struct artifact_draft *draft)
{
    if (draft->announced <= inline_rest(reader)) {
        draft->in_memory = true;
        draft->capacity = (size_t)draft->announced;
        draft->artifact.content = malloc(draft->capacity + 1);
        if (!draft->artifact.content)
            omit(draft, FILE_LOST);
    } else if (host_stores_files(reader->settings.host)) {
        draft->memfd = memfd_create("artifact", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (draft->memfd < 0)
            omit(draft, FILE_NOT_STORED);
    } else {
        omit(draft, FILE_TOO_LARGE);
    }
}

/* What stands in a secret's place may be longer than the secret. */
static bool grow_memory(struct artifact_reader *reader, struct artifact_draft *draft, size_t length)
{
    uint64_t wanted = draft->stored + length;
    if (wanted <= draft->capacity)
        return true;
    if (wanted > inline_rest(reader))
        return false;
    size_t capacity = (size_t)inline_rest(reader);
    unsigned char *content = realloc(draft->artifact.content, capacity + 1);
    if (!content)
        return false;
    draft->artifact.content = content;
    draft->capacity = capacity;
    return true;
}

static void keep(void *user, const void *bytes, size_t length)
{
    struct artifact_reader *reader = user;
    struct artifact_draft *draft = &reader->draft;
    if (draft->artifact.omission != FILE_WHOLE)
        return;
    if (draft->in_memory) {
        if (!grow_memory(reader, draft, length)) {
            omit(draft, FILE_TOO_LARGE);
            return;
        }
        memcpy(&draft->artifact.content[draft->stored], bytes, length);
    } else if (draft->stored + length > reader->settings.file_bytes) {
        omit(draft, FILE_TOO_LARGE);
        return;
    } else if (!write_fully(draft->memfd, bytes, length)) {
        omit(draft, FILE_NOT_STORED);
        return;
    }
    draft->stored += length;
    text_check_add(&draft->kept, bytes, length);
    if (makes_hash(reader))
        SHA256Update(&draft->hash, bytes, length);
}

/* A binary file may hold a secret in any form: compressed, drawn. */
static void withhold_unscanned(struct artifact_reader *reader, struct artifact_draft *draft)
{
    draft->artifact.not_scanned = true;
    if (!reader->settings.keeps_unscanned)
        omit(draft, FILE_WITHHELD);
}

static bool begin_file(struct artifact_reader *reader)
{
    struct artifact_draft *draft = &reader->draft;
    const unsigned char *path = &reader->payload[FILE_FRAME_FIXED];
    bool is_safe;
    clear_draft(draft);
    draft->open = true;
    draft->redaction.redaction = reader->settings.redaction;
    draft->announced = get_number(reader->payload, 8);
    draft->artifact.size = draft->announced;
    draft->artifact.change = (enum file_change)reader->payload[8];
    draft->artifact.path =
        printable_path(path, reader->payload_length - FILE_FRAME_FIXED, &is_safe);
    if (!draft->artifact.path)
        return false;
    SHA256Init(&draft->hash);
    if (is_safe)
        prepare_place(reader, draft);
    else
        omit(draft, FILE_UNSAFE_NAME);
    return true;
}

static void take_data(struct artifact_reader *reader, const unsigned char *bytes, size_t length)
{
    struct artifact_draft *draft = &reader->draft;
    size_t room = sizeof(draft->beginning) - draft->beginning_length;
    size_t count = length < room ? length : room;
    draft->received += length;
    memcpy(&draft->beginning[draft->beginning_length], bytes, count);
    draft->beginning_length += count;
    text_check_add(&draft->raw, bytes, length);
    if (!has_secrets(reader)) {
        keep(reader, bytes, length);
        return;
    }
    if (draft->raw.failed)
        withhold_unscanned(reader, draft);
    if (draft->artifact.omission == FILE_WHOLE)
        redaction_feed(&draft->redaction, bytes, length, keep, reader);
}

/* Lends the content to the host. */
static void store_file(struct artifact_reader *reader, struct artifact_draft *draft)
{
    char uri[ARTIFACT_URI_LIMIT];
    size_t length = 0;
    CLEANUP_FREE char *description = artifact_description(&draft->artifact);
    if (!description || lseek(draft->memfd, 0, SEEK_SET) < 0 ||
        fcntl(draft->memfd, F_ADD_SEALS, SEALS) < 0 ||
        !host_store_file(reader->settings.host, description, draft->memfd, uri, sizeof(uri),
                         &length))
        omit(draft, FILE_NOT_STORED);
    else if (!(draft->artifact.uri = strndup(uri, length)))
        omit(draft, FILE_LOST);
    close_fd(TAKE_FD(draft->memfd));
}

static void describe_content(struct artifact_reader *reader, struct artifact_draft *draft)
{
    struct artifact *artifact = &draft->artifact;
    struct mime_type type = mime_type_of(artifact->path, draft->beginning, draft->beginning_length,
                                         text_check_passed(&draft->raw));
    artifact->mime_type = type.name;
    artifact->active = type.active;
    if (artifact->omission != FILE_WHOLE)
        return;
    if (makes_hash(reader))
        (void)SHA256End(&draft->hash, artifact->sha256);
    else
        memcpy(artifact->sha256, &reader->payload[1], SHA256_HEX_LENGTH);
    artifact->size = draft->stored;
    artifact->is_text = text_check_passed(&draft->kept);
}

static bool add_row(struct artifact_reader *reader, struct artifact *artifact)
{
    if (reader->list->count < reader->settings.files)
        return artifact_list_add(reader->list, artifact);
    artifact_list_omit(reader->list, 1, artifact->size, FILE_TOO_MANY);
    artifact_clear(artifact);
    return true;
}

/* Before the host hears of it: one that has no row is not stored. */
static void hand_over(struct artifact_reader *reader, struct artifact_draft *draft)
{
    if (draft->artifact.omission != FILE_WHOLE)
        return;
    if (draft->in_memory)
        reader->inline_total += draft->stored;
    else if (reader->list->count < reader->settings.files)
        store_file(reader, draft);
}

static bool end_file(struct artifact_reader *reader)
{
    struct artifact_draft *draft = &reader->draft;
    enum file_omission reason = (enum file_omission)reader->payload[0];
    if (reason == FILE_WHOLE && draft->received != draft->announced)
        return false;
    if (reason != FILE_WHOLE)
        omit(draft, reason);
    else if (has_secrets(reader) && !text_check_passed(&draft->raw))
        withhold_unscanned(reader, draft);
    if (draft->artifact.omission == FILE_WHOLE)
        redaction_flush(&draft->redaction, keep, reader);
    describe_content(reader, draft);
    hand_over(reader, draft);
    bool good = add_row(reader, &draft->artifact);
    clear_draft(draft);
    return good;
}

static bool take_omitted(struct artifact_reader *reader)
{
    bool is_safe;
    struct artifact artifact = {
        .size = get_number(reader->payload, 8),
        .change = (enum file_change)reader->payload[8],
        .omission = (enum file_omission)reader->payload[9],
    };
    artifact.path = printable_path(&reader->payload[FILE_FRAME_FIXED],
                                   reader->payload_length - FILE_FRAME_FIXED, &is_safe);
    return artifact.path && add_row(reader, &artifact);
}

static bool is_reason(unsigned char byte)
{
    return byte > FILE_WHOLE && byte < FILE_OMISSION_COUNT;
}

/* Of the two frames with a path. */
static bool names_file(const struct artifact_reader *reader)
{
    char path[FILE_FRAME_PATH_LIMIT + 1];
    if (reader->payload_length <= FILE_FRAME_FIXED)
        return false;
    size_t length = reader->payload_length - FILE_FRAME_FIXED;
    memcpy(path, &reader->payload[FILE_FRAME_FIXED], length);
    path[length] = '\0';
    return reader->payload[8] < FILE_CHANGE_COUNT && strlen(path) == length &&
           path_stays_below(path);
}

/* A file that is announced must fit into what is left. */
static bool fits(struct artifact_reader *reader)
{
    uint64_t size = get_number(reader->payload, 8);
    if (size > reader->settings.file_bytes || size > reader->settings.total_bytes - reader->total)
        return false;
    reader->total += size;
    return true;
}

static bool has_hash(const struct artifact_reader *reader)
{
    char hash[FILE_FRAME_HASH + 1];
    memcpy(hash, &reader->payload[1], FILE_FRAME_HASH);
    hash[FILE_FRAME_HASH] = '\0';
    return ascii_is_hex(hash, FILE_FRAME_HASH);
}

static bool take_frame(struct artifact_reader *reader)
{
    const unsigned char *payload = reader->payload;
    size_t length = reader->payload_length;
    bool open = reader->draft.open;
    switch ((enum file_frame)reader->header[4]) {
    case FILE_FRAME_BEGIN:
        return !open && names_file(reader) && payload[9] == FILE_WHOLE && fits(reader) &&
               begin_file(reader);
    case FILE_FRAME_DATA: /* was taken as it came */
        return true;
    case FILE_FRAME_END:
        return open &&
               ((length == 1 && is_reason(payload[0])) ||
                (length == 1 + FILE_FRAME_HASH && payload[0] == FILE_WHOLE && has_hash(reader))) &&
               end_file(reader);
    case FILE_FRAME_OMITTED:
        return !open && names_file(reader) && is_reason(payload[9]) && take_omitted(reader);
    case FILE_FRAME_FILES_OMITTED:
        if (open || length != 17 || !is_reason(payload[16]))
            return false;
        artifact_list_lose(reader->list, (enum file_omission)payload[16]);
        artifact_list_omit(reader->list, get_number(payload, 8), get_number(&payload[8], 8),
                           (enum file_omission)payload[16]);
        return true;
    case FILE_FRAME_LAST:
        reader->done = !open && length == 0;
        return reader->done;
    }
    return false;
}

static bool accepts_header(struct artifact_reader *reader)
{
    const struct artifact_draft *draft = &reader->draft;
    reader->rest = (uint32_t)get_number(reader->header, 4);
    reader->payload_length = 0;
    if (reader->header[4] != FILE_FRAME_DATA)
        return reader->rest <= sizeof(reader->payload);
    return draft->open && reader->rest > 0 && reader->rest <= FILE_FRAME_DATA_LIMIT &&
           reader->rest <= draft->announced - draft->received;
}

/* How many of the bytes belong to the frame's payload, and were taken. */
static size_t take_payload(struct artifact_reader *reader, const unsigned char *bytes,
                           size_t length)
{
    size_t count = length < reader->rest ? length : reader->rest;
    if (reader->header[4] == FILE_FRAME_DATA) {
        take_data(reader, bytes, count);
    } else {
        memcpy(&reader->payload[reader->payload_length], bytes, count);
        reader->payload_length += count;
    }
    reader->rest -= (uint32_t)count;
    return count;
}

static bool end_frame(struct artifact_reader *reader)
{
    reader->header_length = 0;
    return reader->header[4] == FILE_FRAME_DATA || take_frame(reader);
}

bool artifact_reader_feed(struct artifact_reader *reader, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    const unsigned char *end = next + length;
    while (next < end && !reader->failed && !reader->done) {
        if (reader->header_length < FILE_FRAME_HEADER) {
            reader->header[reader->header_length++] = *next++;
            if (reader->header_length < FILE_FRAME_HEADER)
                continue;
            reader->failed = !accepts_header(reader);
        } else {
            next += take_payload(reader, next, (size_t)(end - next));
        }
        if (!reader->failed && reader->rest == 0)
            reader->failed = !end_frame(reader);
    }
    return !reader->failed && !reader->done;
}

bool artifact_reader_finish(struct artifact_reader *reader)
{
    struct artifact_draft *draft = &reader->draft;
    if (draft->open) {
        omit(draft, FILE_LOST);
        (void)add_row(reader, &draft->artifact);
        clear_draft(draft);
    }
    return reader->done;
}

void artifact_reader_init(struct artifact_reader *reader, const struct artifact_settings *settings,
                          struct artifact_list *list)
{
    memset(reader, 0, sizeof(*reader));
    reader->settings = *settings;
    reader->list = list;
    reader->draft.memfd = -1;
}

void artifact_reader_clear(struct artifact_reader *reader)
{
    clear_draft(&reader->draft);
    explicit_bzero(reader, sizeof(*reader));
    reader->draft.memfd = -1;
}
