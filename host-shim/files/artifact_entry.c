/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, reads and writes the entries of kept files. Any thread. */
#include "files/artifact_entry.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/write_fully.h"

#define SCHEME      "toolhost://run/"
#define ENTRY_LIMIT 65536u
/* So that a URI has at most 255 bytes: providers take no longer ref. */
#define LONGEST_PATH 68u

static bool take_id(const char *text, size_t length, char ret[ARTIFACT_ID_SIZE])
{
    char id[ARTIFACT_ID_SIZE];
    if (length != ARTIFACT_ID_DIGITS)
        return false;
    memcpy(id, text, length);
    id[length] = '\0';
    if (!ascii_is_hex(id, ARTIFACT_ID_DIGITS))
        return false;
    memcpy(ret, id, sizeof(id));
    return true;
}

bool artifact_id_of_uri(const char *text, char ret[ARTIFACT_ID_SIZE])
{
    const char *id = text;
    if (strncmp(text, SCHEME, strlen(SCHEME)) == 0)
        id += strlen(SCHEME);
    return take_id(id, strcspn(id, "/"), ret);
}

bool artifact_id_of_entry_name(const char *name, char ret[ARTIFACT_ID_SIZE])
{
    const char *dot = strchr(name, '.');
    return dot && strcmp(dot, ARTIFACT_SUFFIX) == 0 && take_id(name, (size_t)(dot - name), ret);
}

bool artifact_id_of_content_name(const char *name, char ret[ARTIFACT_ID_SIZE])
{
    return take_id(name, strlen(name), ret);
}

static void name_of_entry(const char *id, char ret[ARTIFACT_ID_SIZE + sizeof(ARTIFACT_SUFFIX)])
{
    (void)stpcpy(stpcpy(ret, id), ARTIFACT_SUFFIX);
}

/* The ID alone finds the file; the path is there for people. */
static const char *path_of_uri(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    if (strlen(path) <= LONGEST_PATH)
        return path;
    return strlen(name) <= LONGEST_PATH ? name : "file";
}

/* RFC 3986: what is neither unreserved nor a slash is written as its bytes. */
static json_t *make_uri(const char *id, const char *path)
{
    static const char plain[] = ASCII_ALPHANUMERIC "-._~/";
    CLEANUP_FREE char *uri = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&uri, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, SCHEME "%s/", id);
    for (; *path; path++) {
        if (strchr(plain, *path))
            (void)fputc(*path, out);
        else
            (void)fprintf(out, "%%%02X", (unsigned char)*path);
    }
    bool written = !ferror(out);
    return fclose(out) == 0 && written ? json_string(uri) : NULL;
}

json_t *artifact_entry_make(const struct artifact_facts *facts, const json_t *file)
{
    const char *path = json_member_string(file, "path", "file");
    return json_pack("{s:o, s:s, s:s, s:I, s:s, s:b, s:I, s:I, s:I}", "uri",
                     make_uri(facts->id, path_of_uri(path)), "path", path, "mime_type",
                     json_member_string(file, "mime_type", "application/octet-stream"), "size",
                     (json_int_t)facts->size, "sha256", facts->sha256, "active",
                     json_member_true(file, "active"), "number", (json_int_t)facts->number,
                     "created", (json_int_t)facts->created, "expires", (json_int_t)facts->expires);
}

json_t *artifact_entry_read(int directory, const char *id)
{
    char name[ARTIFACT_ID_SIZE + sizeof(ARTIFACT_SUFFIX)];
    char text[ENTRY_LIMIT];
    name_of_entry(id, name);
    CLEANUP_CLOSE int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length = fd >= 0 ? read_up_to(fd, text, sizeof(text)) : -1;
    json_t *entry = length > 0 ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
    if (json_member_string(entry, "uri", NULL) && json_member_string(entry, "path", NULL) &&
        json_is_integer(json_object_get(entry, "size")))
        return entry;
    json_decref(entry);
    return NULL;
}

bool artifact_entry_write(int directory, const char *id, const json_t *entry)
{
    char name[ARTIFACT_ID_SIZE + sizeof(ARTIFACT_SUFFIX)];
    name_of_entry(id, name);
    CLEANUP_FREE char *text = json_compact(entry);
    CLEANUP_CLOSE int fd =
        openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return text && fd >= 0 && strlen(text) <= ENTRY_LIMIT && write_fully(fd, text, strlen(text));
}

void artifact_entry_remove(int directory, const char *id)
{
    char name[ARTIFACT_ID_SIZE + sizeof(ARTIFACT_SUFFIX)];
    name_of_entry(id, name);
    (void)unlinkat(directory, name, 0);
    (void)unlinkat(directory, id, 0);
}
