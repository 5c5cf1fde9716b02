/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of tar archives (POSIX ustar, with pax records for names that are longer). All that they
 * name is root's. Pure code; the docker backend.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "environments/tree_walk.h"

#define TAR_BLOCK      512
#define TAR_OWNER_SIZE 32

/* Numbers are octal digits with a NUL behind them; see tar(5). */
struct tar_header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8]; /* six digits, NUL, a space; counted as eight spaces */
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char owner[TAR_OWNER_SIZE];
    char group[TAR_OWNER_SIZE];
    char device_major[8];
    char device_minor[8];
    char prefix[155];
    char rest[12];
};

/* Fills in the checksum of a header that is complete but for it. */
void tar_sum_up(struct tar_header *header);

#define TAR_NAME_LIMIT (TREE_PATH_LIMIT + 256) /* bytes */
/* Two records, each with a name, a word and a number, in whole blocks between two headers. */
#define TAR_HEADERS_LIMIT (((size_t)2 * (TAR_NAME_LIMIT + 32) / TAR_BLOCK + 3) * TAR_BLOCK)

struct tar_entry {
    const char *name;   /* at most TAR_NAME_LIMIT bytes; a directory's ends with a slash */
    const char *target; /* of a symbolic link, at most TREE_PATH_LIMIT bytes */
    uint64_t size;      /* of a file, below 8 GiB */
    int64_t time;       /* seconds; below 0 is written as 0 */
    mode_t mode;        /* a file's, a directory's or a symbolic link's */
};

/* Writes the entry's headers; their length, in whole blocks. */
size_t tar_write_header(const struct tar_entry *entry, unsigned char ret[TAR_HEADERS_LIMIT]);
