/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the archive: see guest_file.h. */
#include "backends/docker/image/guest_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/guest_protocol.h"

#define BLOCK      512
#define END_BLOCKS 2
#define OWNER_SIZE 32

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
    char owner[OWNER_SIZE];
    char group[OWNER_SIZE];
    char device_major[8];
    char device_minor[8];
    char prefix[155];
    char rest[12];
};

_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

static void sum_up(struct tar_header *header)
{
    const unsigned char *byte = (const unsigned char *)header;
    unsigned int sum = 0;
    memset(header->checksum, ' ', sizeof(header->checksum));
    for (size_t i = 0; i < sizeof(*header); i++)
        sum += byte[i];
    (void)snprintf(header->checksum, sizeof(header->checksum), "%06o", sum & 0777777);
}

static void fill_header(struct tar_header *header, size_t length, const char *owner)
{
    static const struct tar_header constant = {
        .mode = "0100111", /* with the type of a regular file, as engines write it */
        .uid = "0000000",
        .gid = "0000000",
        .mtime = "00000000000",
        .type = '0',
        .magic = "ustar",
        .version = {'0', '0'},
        .device_major = "0000000",
        .device_minor = "0000000",
    };
    *header = constant;
    (void)snprintf(header->name, sizeof(header->name), "%s", &GUEST_PATH[1]);
    (void)snprintf(header->size, sizeof(header->size), "%011o", (unsigned int)length);
    (void)snprintf(header->owner, sizeof(header->owner), "%s", owner);
    (void)snprintf(header->group, sizeof(header->group), "%s", owner);
    sum_up(header);
}

unsigned char *guest_archive_make(const unsigned char *guest, size_t length, const char *owner,
                                  size_t *ret_length)
{
    if (length == 0 || length > GUEST_LIMIT)
        return NULL;
    size_t padded = (length + BLOCK - 1) / BLOCK * BLOCK;
    size_t total = BLOCK + padded + (size_t)END_BLOCKS * BLOCK;
    struct tar_header header;
    fill_header(&header, length, owner);
    unsigned char *archive = calloc(1, total);
    if (!archive)
        return NULL;
    memcpy(archive, &header, sizeof(header));
    memcpy(archive + BLOCK, guest, length);
    *ret_length = total;
    return archive;
}
