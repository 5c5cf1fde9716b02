/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request's files. Pure code; runs in the gateway on the calling thread.
 */
#include "request/request_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "request/request_fields.h"
#include "vocabulary/path.h"

/* The array under construction; count grows with each whole file, so that a half-built array can be
 * freed. */
struct file_array {
    struct run_file *files;
    size_t count;
};

void run_files_free(struct run_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].path);
        free(files[i].content);
    }
    free(files);
}

static void cleanup_file_array(struct file_array *array)
{
    run_files_free(array->files, array->count);
}

/* One path is the other, or a directory of it. */
static bool paths_collide(const char *left, const char *right)
{
    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    return (*left == '\0' && (*right == '\0' || *right == '/')) || (*right == '\0' && *left == '/');
}

static bool check_collisions(const struct json_place *place, const struct file_array *before,
                             const char *path)
{
    for (size_t i = 0; i < before->count; i++) {
        if (paths_collide(before->files[i].path, path))
            return json_place_refuse(place, "is the path of member %zu, or conflicts with it", i);
    }
    return true;
}

static bool read_encoding(const struct json_place *place, const json_t *value, bool *ret_base64)
{
    const char *encoding = FILE_ENCODING_UTF8;
    if (!json_is_null(value) && value && !json_is_string(value))
        return json_place_refuse(place, "must be a string");
    if (json_is_string(value))
        encoding = json_string_value(value);
    *ret_base64 = strcmp(encoding, FILE_ENCODING_BASE64) == 0;
    return *ret_base64 || strcmp(encoding, FILE_ENCODING_UTF8) == 0 ||
           json_place_refuse(place,
                             "must be \"" FILE_ENCODING_UTF8 "\" or \"" FILE_ENCODING_BASE64 "\"");
}

static bool decode(const struct json_place *place, const char *text, struct run_file *file)
{
    switch (base64_decode(text, strlen(text), &file->content, &file->length)) {
    case BASE64_OK:
        return true;
    case BASE64_OUT_OF_MEMORY:
        return json_place_out_of_memory(place);
    case BASE64_INVALID:
        break;
    }
    return json_place_refuse(place, "must be base64 with padding and without line breaks");
}

static bool read_content(const struct json_place *place, const json_t *value, bool base64,
                         struct run_file *file)
{
    const char *text;
    if (!json_read_string(place, value, 0, REQUEST_BYTES_LIMIT, &text))
        return false;
    if (base64)
        return decode(place, text, file);
    file->length = strlen(text);
    file->content = (unsigned char *)copy_bytes(text, file->length);
    return file->content || json_place_out_of_memory(place);
}

/* Fills the next file of the array, which has room for it. */
static bool read_file(const struct json_place *place, json_t *object, struct file_array *array)
{
    static const char *const members[] = {"path", "content", "encoding", NULL};
    struct run_file *file = &array->files[array->count];
    const char *path;
    bool base64 = false;

    if (!json_read_known_members(place, object, members))
        return false;
    struct json_place path_place = json_place_named(place, "path");
    struct json_place content_place = json_place_named(place, "content");
    struct json_place encoding_place = json_place_named(place, "encoding");
    if (!json_read_string(&path_place, json_object_get(object, "path"), 1, REQUEST_PATH_LIMIT,
                          &path) ||
        !path_check_relative(&path_place, path) || !check_collisions(&path_place, array, path) ||
        !read_encoding(&encoding_place, json_object_get(object, "encoding"), &base64))
        return false;
    if (!read_content(&content_place, json_object_get(object, "content"), base64, file))
        return false;
    file->path = copy_bytes(path, strlen(path));
    array->count++; /* also without a path: the content is the array's to free */
    return file->path || json_place_out_of_memory(place);
}

bool request_files_read(const struct json_place *place, json_t *array, size_t limit,
                        struct run_file **ret_files, size_t *ret_count)
{
    size_t i;
    json_t *item;

    if (!json_read_array(place, array, 0, limit))
        return false;
    CLEANUP(cleanup_file_array)
    struct file_array read = {.files = calloc(json_array_size(array) + 1, sizeof(*read.files))};
    if (!read.files)
        return json_place_out_of_memory(place);
    json_array_foreach(array, i, item)
    {
        struct json_place file_place = json_place_item(place, i);
        if (!read_file(&file_place, item, &read))
            return false;
    }
    *ret_count = read.count;
    *ret_files = TAKE_POINTER(read.files);
    read.count = 0;
    return true;
}
