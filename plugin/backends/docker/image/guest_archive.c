/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the archive: see guest_file.h. */
#include "backends/docker/image/guest_file.h"
#include "backends/docker/image/guest_pip_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/image/tar_header.h"
#include "base/cleanup.h"
#include "guest/messages/guest_protocol.h"
#include "interpreter/installer_command/installer_command.h"

#define END_BLOCKS     2
#define MODE_FILE      "0100555" /* with the type, as engines write it */
#define MODE_TEXT      "0100444"
#define MODE_DIRECTORY "0040755"
#define MODE_LINK      "0120777"

#define INSTALLERS &GUEST_INSTALLERS[1]

/* NULL bytes: only its length is wanted. */
struct archive {
    unsigned char *bytes;
    size_t length;
    const char *owner;
};

struct entry {
    const char *mode;
    char type;
    const char *name; /* below GUEST_INSTALLERS; NULL: the guest's */
    const char *link; /* NULL: it is none */
    const void *content;
    size_t length;
};

static void fill_header(struct tar_header *header, const struct entry *entry, const char *owner)
{
    static const struct tar_header constant = {
        .uid = "0000000",
        .gid = "0000000",
        .mtime = "00000000000",
        .magic = "ustar",
        .version = {'0', '0'},
        .device_major = "0000000",
        .device_minor = "0000000",
    };
    *header = constant;
    if (entry->name)
        (void)snprintf(header->name, sizeof(header->name), "%s/%s", INSTALLERS, entry->name);
    else
        (void)snprintf(header->name, sizeof(header->name), "%s", &GUEST_PATH[1]);
    (void)snprintf(header->mode, sizeof(header->mode), "%s", entry->mode);
    header->type = entry->type;
    if (entry->link)
        (void)snprintf(header->link, sizeof(header->link), "%s", entry->link);
    (void)snprintf(header->size, sizeof(header->size), "%011o", (unsigned int)entry->length);
    (void)snprintf(header->owner, sizeof(header->owner), "%s", owner);
    (void)snprintf(header->group, sizeof(header->group), "%s", owner);
    tar_sum_up(header);
}

static void add(struct archive *archive, const struct entry *entry)
{
    struct tar_header header;
    size_t padded = (entry->length + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    if (archive->bytes) {
        fill_header(&header, entry, archive->owner);
        memcpy(archive->bytes + archive->length, &header, sizeof(header));
        if (entry->length > 0)
            memcpy(archive->bytes + archive->length + TAR_BLOCK, entry->content, entry->length);
    }
    archive->length += TAR_BLOCK + padded;
}

/* Sorted by name, as engines write them. */
static void add_installers(struct archive *archive)
{
    static const char *const names[] = {INSTALLER_NAMES};
    add(archive, &(struct entry){.mode = MODE_DIRECTORY, .type = '5', .name = ""});
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], "pip.py") == 0)
            add(archive, &(struct entry){.mode = MODE_TEXT,
                                         .type = '0',
                                         .name = names[i],
                                         .content = guest_pip_text,
                                         .length = guest_pip_length});
        else
            add(archive, &(struct entry){
                             .mode = MODE_LINK, .type = '2', .name = names[i], .link = GUEST_PATH});
    }
}

static void add_all(struct archive *archive, const unsigned char *guest, size_t length)
{
    const struct entry file = {.mode = MODE_FILE, .type = '0', .content = guest, .length = length};
    add(archive, &file);
    add_installers(archive);
    archive->length += (size_t)END_BLOCKS * TAR_BLOCK;
}

unsigned char *guest_archive_make(const unsigned char *guest, size_t length, const char *owner,
                                  size_t *ret_length)
{
    struct archive archive = {.owner = owner};
    if (length == 0 || length > GUEST_LIMIT)
        return NULL;
    add_all(&archive, guest, length);
    archive.bytes = calloc(1, archive.length);
    if (!archive.bytes)
        return NULL;
    archive.length = 0;
    add_all(&archive, guest, length);
    *ret_length = archive.length;
    return archive.bytes;
}
