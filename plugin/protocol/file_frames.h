/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first process of a sandbox writes to RUN_FD_FILES once the program's tree is dead: one
 * frame after the other, the length of its payload (u32, little-endian), its kind (u8), and the
 * payload. Numbers in a payload are little-endian as well. A file is FILE_BEGIN, FILE_DATA as often
 * as it takes, and FILE_END; no other frame comes in between. LAST is the end; without it something
 * was lost.
 */
#pragma once

#include <stdint.h>

#define FILE_FRAME_HEADER     5
#define FILE_FRAME_PATH_LIMIT 1024              /* bytes of a path; a longer one is too deep */
#define FILE_FRAME_DATA_LIMIT (UINT32_C(65536)) /* bytes of one FILE_DATA */
#define FILE_FRAME_HASH       64                /* hexadecimal digits of a SHA-256 */
/* Size, change and reason, ahead of the path. */
#define FILE_FRAME_FIXED 10

#define FILE_FRAMES_HASTE_MS 2000 /* for the files of a run that was ordered to end */

#define OUTPUT_PATTERNS_LIMIT      32  /* of one run */
#define OUTPUT_PATTERN_BYTES_LIMIT 255 /* of one pattern */

enum file_frame {
    FILE_FRAME_BEGIN = 1,     /* u64 size, u8 change, u8 0, path */
    FILE_FRAME_DATA,          /* its next bytes */
    FILE_FRAME_END,           /* u8 reason; where it is 0, the SHA-256 of all its bytes, as text */
    FILE_FRAME_OMITTED,       /* u64 size, u8 change, u8 reason, path: a file without its bytes */
    FILE_FRAME_FILES_OMITTED, /* u64 count, u64 bytes, u8 reason: files that are not named; count 0:
                                 nobody knows how many */
    FILE_FRAME_LAST,          /* nothing */
};

enum file_change { FILE_CHANGE_NEW, FILE_CHANGE_CHANGED, FILE_CHANGE_COUNT };

/* Why a file comes without its content, or is not even named: value, name in results, meaning. */
#define FILE_OMISSIONS(row)                                                                       \
    row(FILE_TOO_LARGE, "too_large", "larger than the limit of one file") row(                    \
        FILE_TOTAL_TOO_LARGE, "total_too_large",                                                  \
        "behind files that have used up the total") row(FILE_TOO_MANY, "too_many",                \
                                                        "more files than the limit")              \
        row(FILE_NOT_REGULAR, "not_regular", "a link, a pipe, a socket or a device") row(         \
            FILE_SAME_FILE, "same_file", "another name of an input or of a file that is there")   \
            row(FILE_UNSAFE_NAME, "unsafe_name", "a name with control characters, or not UTF-8")  \
                row(FILE_UNREADABLE, "unreadable", "its mode forbids reading, or reading failed") \
                    row(FILE_TOO_DEEP, "too_deep",                                                \
                        "too many directories deep, or too long a path")                          \
                        row(FILE_TIME_LIMIT, "time_limit", "collecting took too long")            \
                            row(FILE_NOT_STORED, "not_stored",                                    \
                                "too large to be inline, and the host stores no files")           \
                                row(FILE_WITHHELD, "withheld",                                    \
                                    "a run with secrets, and a file that cannot be searched")     \
                                    row(FILE_LOST, "lost",                                        \
                                        "the sandbox ended while its files were collected")       \
                                        row(FILE_KILLED, "killed",                                \
                                            "the run was killed, and its sandbox with it")        \
                                            row(FILE_NOT_FROZEN, "not_frozen",                    \
                                                "the processes of the session did not stop")

enum file_omission {
    FILE_WHOLE, /* not omitted */
#define FILE_OMISSION_VALUE(value, name, meaning) value,
    FILE_OMISSIONS(FILE_OMISSION_VALUE)
#undef FILE_OMISSION_VALUE
        FILE_OMISSION_COUNT
};
