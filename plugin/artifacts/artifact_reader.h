/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the frames of a sandbox's first process (protocol/file_frames.h) and makes the list of the
 * run's files of them. It holds one file at a time: in memory where it is to be inline, else in a
 * sealed memfd that the host is lent. Whatever the frames say, the bounds of the settings hold.
 * Runs in the gateway, on the thread inside tool_invoke(); owned by one call.
 */
#pragma once

#include <sha256.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "artifacts/artifact.h"
#include "artifacts/text_check.h"
#include "host/host.h"
#include "redaction/redaction.h"

struct artifact_settings {
    uint64_t files; /* that are named */
    uint64_t file_bytes;
    uint64_t total_bytes;
    uint64_t inline_bytes; /* of all files together */
    bool keeps_unscanned;  /* binary files of a run with secrets */
    bool hashes; /* whoever sends them is not of this machine: their hashes are made here */
    const struct tool_host *host;      /* borrowed */
    const struct redaction *redaction; /* borrowed; NULL: no secrets */
};

/* The file whose frames are coming. */
struct artifact_draft {
    bool open;
    bool in_memory; /* else in the memfd; neither where it is omitted */
    int memfd;
    struct artifact artifact;
    uint64_t announced;
    uint64_t received;
    uint64_t stored;
    size_t capacity;
    struct text_check raw;  /* as it came */
    struct text_check kept; /* as it is handed over */
    unsigned char beginning[MIME_TYPE_BYTES];
    size_t beginning_length;
    struct redaction_stream redaction;
    SHA2_CTX hash; /* of what is handed over, where that is redacted */
};

struct artifact_reader {
    struct artifact_settings settings;
    struct artifact_list *list; /* borrowed */
    struct artifact_draft draft;
    unsigned char header[FILE_FRAME_HEADER];
    size_t header_length;
    unsigned char payload[FILE_FRAME_FIXED + FILE_FRAME_PATH_LIMIT];
    size_t payload_length;
    uint32_t rest; /* of the payload */
    uint64_t total;
    uint64_t inline_total;
    bool failed; /* what came is none of our frames, or there is no memory */
    bool done;   /* LAST has come */
};

void artifact_reader_init(struct artifact_reader *reader, const struct artifact_settings *settings,
                          struct artifact_list *list);
/* The next bytes. false: no more are wanted. May call the host's store_file. */
bool artifact_reader_feed(struct artifact_reader *reader, const void *bytes, size_t length);
/* At the end of the stream. false: files may be missing. */
bool artifact_reader_finish(struct artifact_reader *reader);
void artifact_reader_clear(struct artifact_reader *reader);
