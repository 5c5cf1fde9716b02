/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of headers: see tar_header.h. */
#include "backends/docker/image/tar_header.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is one block");

#define TYPE_FILE      '0'
#define TYPE_LINK      '2'
#define TYPE_DIRECTORY '5'
#define TYPE_RECORDS   'x'

#define LARGEST_NUMBER UINT64_C(077777777777) /* of eleven digits */

void tar_sum_up(struct tar_header *header)
{
    const unsigned char *byte = (const unsigned char *)header;
    unsigned int sum = 0;
    memset(header->checksum, ' ', sizeof(header->checksum));
    for (size_t i = 0; i < sizeof(*header); i++)
        sum += byte[i];
    (void)snprintf(header->checksum, sizeof(header->checksum), "%06o", sum & 0777777);
}

static void put_name(char *field, size_t size, const char *name)
{
    size_t length = strnlen(name, size);
    memcpy(field, name, length);
}

static void fill(struct tar_header *header, char type, mode_t mode, uint64_t size, uint64_t time)
{
    static const struct tar_header constant = {
        .uid = "0000000",
        .gid = "0000000",
        .magic = "ustar",
        .version = {'0', '0'},
        .device_major = "0000000",
        .device_minor = "0000000",
    };
    *header = constant;
    header->type = type;
    (void)snprintf(header->mode, sizeof(header->mode), "%07o", (unsigned int)mode & 07777);
    (void)snprintf(header->size, sizeof(header->size), "%011" PRIo64, size & LARGEST_NUMBER);
    (void)snprintf(header->mtime, sizeof(header->mtime), "%011" PRIo64, time & LARGEST_NUMBER);
}

static size_t digits(size_t number)
{
    size_t count = 1;
    while (number >= 10) {
        number /= 10;
        count++;
    }
    return count;
}

/* "LENGTH WORD=VALUE\n", where the length counts its own digits too. */
static size_t put_record(unsigned char *records, const char *word, const char *value)
{
    size_t rest = strlen(word) + strlen(value) + 3;
    size_t length = rest + digits(rest);
    if (digits(length) > digits(rest))
        length++;
    int written = snprintf((char *)records, length + 1, "%zu %s=%s\n", length, word, value);
    return written < 0 ? 0 : (size_t)written;
}

static size_t whole_blocks(size_t length)
{
    return (length + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

static size_t write_records(const struct tar_entry *entry, bool long_name, bool long_target,
                            unsigned char *ret)
{
    struct tar_header header;
    unsigned char *records = ret + TAR_BLOCK;
    size_t length = 0;
    if (long_target)
        length += put_record(records, "linkpath", entry->target);
    if (long_name)
        length += put_record(records + length, "path", entry->name);
    if (length == 0)
        return 0;
    fill(&header, TYPE_RECORDS, 0, length, 0);
    put_name(header.name, sizeof(header.name), "PaxHeaders");
    tar_sum_up(&header);
    memcpy(ret, &header, sizeof(header));
    memset(records + length, 0, whole_blocks(length) - length);
    return TAR_BLOCK + whole_blocks(length);
}

static char type_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return TYPE_DIRECTORY;
    return S_ISLNK(mode) ? TYPE_LINK : TYPE_FILE;
}

size_t tar_write_header(const struct tar_entry *entry, unsigned char ret[TAR_HEADERS_LIMIT])
{
    struct tar_header header;
    bool is_link = S_ISLNK(entry->mode);
    bool long_name = strlen(entry->name) > sizeof(header.name);
    bool long_target = is_link && strlen(entry->target) > sizeof(header.link);
    size_t length = write_records(entry, long_name, long_target, ret);
    fill(&header, type_of(entry->mode), entry->mode, S_ISREG(entry->mode) ? entry->size : 0,
         entry->time > 0 ? (uint64_t)entry->time : 0);
    put_name(header.name, sizeof(header.name), entry->name);
    if (is_link)
        put_name(header.link, sizeof(header.link), entry->target);
    tar_sum_up(&header);
    memcpy(ret + length, &header, sizeof(header));
    return length + TAR_BLOCK;
}
