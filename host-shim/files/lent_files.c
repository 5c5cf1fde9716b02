/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps and lends the open files of a call. On the call's thread. */
#include "files/lent_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "files/open_beneath.h"

#define REF_PREFIX "toolhost:file:"
#define REF_DIGITS 32u

static void clear_file(struct lent_file *file)
{
    free(file->ref);
    free(file->name);
    close_fd(file->fd);
}

void lent_files_clear(struct lent_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        clear_file(&files->files[i]);
    files->count = 0;
}

static const struct lent_file *find_file(const struct lent_files *files, const char *ref)
{
    for (size_t i = 0; ref && i < files->count; i++) {
        if (strcmp(files->files[i].ref, ref) == 0)
            return &files->files[i];
    }
    return NULL;
}

static const char *add_file(struct lent_files *files, const char *ref, const char *name, int opened,
                            uint64_t size, struct failure *failure)
{
    CLEANUP_CLOSE int fd = opened;
    struct lent_file *file = &files->files[files->count];
    if (files->count == LENT_FILES || size > LENT_FILE_BYTES) {
        (void)failure_set(
            failure, "file_too_large",
            size > LENT_FILE_BYTES ? "%s: more than 1 GiB" : "%s: there are too many files", name);
        return NULL;
    }
    *file = (struct lent_file){.fd = -1, .size = size};
    if (!sha256_hex_of_file(fd, size, file->sha256)) {
        (void)failure_set_errno(failure, "unreadable_file", errno, "%s", name);
        return NULL;
    }
    file->ref = strdup(ref);
    file->name = strdup(name);
    if (!file->ref || !file->name) {
        clear_file(file);
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    file->fd = TAKE_FD(fd);
    files->count++;
    return file->ref;
}

const char *lent_files_add(struct lent_files *files, const char *name, int fd, uint64_t size,
                           struct failure *failure)
{
    char ref[sizeof(REF_PREFIX) + REF_DIGITS] = REF_PREFIX;
    if (!hex_random(ref + strlen(REF_PREFIX), REF_DIGITS)) {
        close_fd(fd);
        (void)failure_set_errno(failure, "internal", errno, "no random name");
        return NULL;
    }
    return add_file(files, ref, name, fd, size, failure);
}

/* Opens a file of an earlier run, or one beneath the directory; its name in *ret_name is new. */
static int find_source(const struct file_sources *sources, const char *ref, char **ret_name,
                       uint64_t *ret_size)
{
    struct failure ignored;
    int kept = -1;
    json_auto_t *entry = artifact_store_find(sources->artifacts, ref, &kept, &ignored);
    *ret_name = strdup(json_member_string(entry, "path", ref));
    *ret_size = (uint64_t)json_member_integer(entry, "size", 0);
    if (entry || !sources->directory)
        return kept;
    return open_regular_beneath(sources->directory, ref, ret_size, &ignored);
}

static void find_named(struct lent_files *files, const struct file_sources *sources,
                       const json_t *input)
{
    size_t index = 0;
    const json_t *entry = NULL;
    json_array_foreach(json_object_get(input, "files"), index, entry)
    {
        struct failure ignored;
        CLEANUP_FREE char *name = NULL;
        uint64_t size = 0;
        const char *ref = json_member_string(entry, "ref", NULL);
        if (!ref || find_file(files, ref))
            continue;
        CLEANUP_CLOSE int fd = find_source(sources, ref, &name, &size);
        if (fd >= 0 && name)
            (void)add_file(files, ref, name, TAKE_FD(fd), size, &ignored);
    }
}

static json_t *describe_file(const struct lent_file *file)
{
    return json_pack("{s:s, s:s, s:I, s:s}", "ref", file->ref, "name", file->name, "size",
                     (json_int_t)file->size, "sha256", file->sha256);
}

static bool add_list(const struct lent_files *files, json_t *context)
{
    json_auto_t *list = json_array();
    for (size_t i = 0; i < files->count; i++) {
        if (json_array_append_new(list, describe_file(&files->files[i])) != 0)
            return false;
    }
    return json_object_set(context, "files", list) == 0;
}

char *lent_files_context(struct lent_files *files, const struct file_sources *sources,
                         const char *input_json, const char *context_json)
{
    /* Most inputs name no file, and some are large. One that spells the name otherwise gets none.
     */
    json_auto_t *input = strstr(input_json, "\"ref\"") ? json_loads(input_json, 0, NULL) : NULL;
    find_named(files, sources, input);
    if (files->count == 0)
        return strdup(context_json);
    json_auto_t *context = json_loads(context_json, 0, NULL);
    return context && add_list(files, context) ? json_compact(context) : NULL;
}

int lent_files_open(const struct lent_files *files, const char *ref, uint64_t *ret_size)
{
    const struct lent_file *file = find_file(files, ref);
    int fd = file ? open_again(file->fd) : -1;
    if (fd >= 0)
        *ret_size = file->size;
    return fd;
}
