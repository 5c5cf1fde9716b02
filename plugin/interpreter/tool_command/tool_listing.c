/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the file and what is found in it: see tool_listing.h. */
#include "interpreter/tool_command/tool_listing.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "protocol/run_description.h"

#define NAME_SIZE 64
/* The program's own where it has mounts. Where it has none, nothing can be written there: its own
 * directory is the one that TMPDIR named when it began. */
#define COMMON_PLACE "/tmp"

/* One for each socket, so that no file of another run is taken for it. */
static bool name_listing(const char *suffix, char ret[static NAME_SIZE])
{
    struct stat socket;
    if (fstat(RUN_TOOLS_FD, &socket) < 0)
        return false;
    (void)snprintf(ret, NAME_SIZE, ".code-execute-tools-%ju%s", (uintmax_t)socket.st_ino, suffix);
    return true;
}

/* path: absolute; any other, and NULL, is no place. */
static int open_place(const char *path)
{
    return path && path[0] == '/' ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static bool keep_in(const char *path, const unsigned char *bytes, size_t length)
{
    char name[NAME_SIZE];
    char new_name[NAME_SIZE];
    CLEANUP_CLOSE int place = open_place(path);
    if (place < 0 || !name_listing("", name) || !name_listing("-new", new_name))
        return false;
    (void)unlinkat(place, new_name, 0);
    CLEANUP_CLOSE int fd =
        openat(place, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (write_fully(fd, bytes, length) && renameat(place, new_name, place, name) == 0)
        return true;
    (void)unlinkat(place, new_name, 0);
    return false;
}

void tool_listing_keep(const unsigned char *bytes, size_t length)
{
    if (!keep_in(COMMON_PLACE, bytes, length))
        (void)keep_in(getenv("TMPDIR"), bytes, length);
}

/* -1: there is none that a process of this user has left. */
static int open_in(int place, size_t *ret_length)
{
    char name[NAME_SIZE];
    struct stat status;
    if (place < 0 || !name_listing("", name))
        return -1;
    CLEANUP_CLOSE int fd = openat(place, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return -1;
    *ret_length = (size_t)status.st_size;
    return TAKE_FD(fd);
}

static bool read_in(const char *path, struct tool_reply *ret)
{
    size_t length = 0;
    CLEANUP_CLOSE int place = open_place(path);
    CLEANUP_CLOSE int fd = open_in(place, &length);
    CLEANUP_FREE unsigned char *bytes = fd < 0 ? NULL : malloc(length + 1);
    if (!bytes || read(fd, bytes, length) != (ssize_t)length)
        return false;
    ret->length = length;
    ret->bytes = ret->frame = bytes;
    bytes = NULL;
    return true;
}

bool tool_listing_read(struct tool_reply *ret)
{
    return read_in(COMMON_PLACE, ret) || read_in(getenv("TMPDIR"), ret);
}

/* A member of a tool; NULL: it has none. The caller frees it. */
static char *text_of(struct json_slice tool, const char *member)
{
    struct json_slice value;
    return json_slice_member(tool, member, &value) ? json_slice_text(value) : NULL;
}

static void print_name(struct json_slice tool)
{
    CLEANUP_FREE char *name = text_of(tool, "name");
    if (name)
        (void)printf("%s\n", name);
}

void tool_listing_print_names(struct json_slice listing)
{
    struct json_slice left = json_slice_open(listing);
    struct json_slice tool;
    while (json_slice_next(&left, &tool))
        print_name(tool);
}

bool tool_listing_describe(struct json_slice listing, const char *name)
{
    struct json_slice left = json_slice_open(listing);
    struct json_slice tool;
    while (json_slice_next(&left, &tool)) {
        CLEANUP_FREE char *its = text_of(tool, "name");
        if (!its || strcmp(its, name) != 0)
            continue;
        (void)printf("%.*s\n", (int)tool.length, tool.at);
        return true;
    }
    return false;
}

/* Whatever the case of the word's letters, as far as they are ASCII. */
static bool contains(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text; text++)
        if (strncasecmp(text, word, length) == 0)
            return true;
    return false;
}

/* The same weights as in the module of Python. */
static unsigned int score_of(struct json_slice tool, char *const *words)
{
    static const struct {
        const char *member;
        unsigned int weight;
    } texts[] = {{"name", 4}, {"identifier", 4}, {"title", 2}, {"description", 1}};
    unsigned int score = 0;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        CLEANUP_FREE char *text = text_of(tool, texts[i].member);
        for (char *const *word = words; text && *word; word++)
            score += contains(text, *word) ? texts[i].weight : 0;
    }
    return score;
}

struct found {
    struct json_slice tool;
    unsigned int score;
};

/* Those with the same score stay in the order of the request. */
static int compare(const void *one, const void *other)
{
    const struct found *first = one;
    const struct found *second = other;
    if (first->score != second->score)
        return first->score > second->score ? -1 : 1;
    return first->tool.at < second->tool.at ? -1 : 1;
}

bool tool_listing_search(struct json_slice listing, char *const *words)
{
    struct json_slice left = json_slice_open(listing);
    struct json_slice tool;
    size_t count = 0;
    while (json_slice_next(&left, &tool))
        count++;
    CLEANUP_FREE struct found *found = calloc(count + 1, sizeof(*found));
    if (!found)
        return false;
    left = json_slice_open(listing);
    for (size_t i = 0; i < count && json_slice_next(&left, &tool); i++)
        found[i] = (struct found){tool, score_of(tool, words)};
    qsort(found, count, sizeof(*found), compare);
    for (size_t i = 0; i < count && found[i].score > 0; i++)
        print_name(found[i].tool);
    return true;
}
