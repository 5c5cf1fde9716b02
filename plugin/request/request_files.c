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
#include "json/json_path.h"

/* The array under construction; count grows with each whole file, so that a half-built array can be
 * freed. */
struct file_array {
    struct request_file *files;
    size_t count;
};

void request_files_free(struct request_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].path);
        free(files[i].content);
        free(files[i].ref);
    }
    free(files);
}

void request_file_hash(const struct request_file *file, char ret[SHA256_HEX_LENGTH + 1])
{
    if (file->ref)
        memcpy(ret, file->sha256, SHA256_HEX_LENGTH + 1);
    else
        sha256_hex(file->content, file->length, ret);
}

static void cleanup_file_array(struct file_array *array)
{
    request_files_free(array->files, array->count);
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

static bool decode(const struct json_place *place, const char *text, struct request_file *file)
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
                         struct request_file *file)
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

static bool read_ref(const struct json_place *place, const json_t *value, struct request_file *file)
{
    const char *ref;
    if (!json_read_string(place, value, 1, REQUEST_REF_LIMIT, &ref) ||
        !json_check_no_control(place, ref))
        return false;
    file->ref = copy_bytes(ref, strlen(ref));
    return file->ref || json_place_out_of_memory(place);
}

/* null is absent. */
static const json_t *member_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

/* One of content and ref: a schema without combiners cannot say so. */
static bool read_source(const struct json_place *place, const json_t *object,
                        struct request_file *file)
{
    struct json_place content_place = json_place_named(place, "content");
    struct json_place encoding_place = json_place_named(place, "encoding");
    struct json_place ref_place = json_place_named(place, "ref");
    const json_t *content = member_of(object, "content");
    const json_t *ref = member_of(object, "ref");
    bool base64 = false;
    if (!content && !ref)
        return json_place_refuse(place, "must have content or ref");
    if (content && ref)
        return json_place_refuse(&ref_place, "must be absent where there is content");
    if (ref && member_of(object, "encoding"))
        return json_place_refuse(&encoding_place, "must be absent where there is ref");
    if (ref)
        return read_ref(&ref_place, ref, file);
    return read_encoding(&encoding_place, json_object_get(object, "encoding"), &base64) &&
           read_content(&content_place, content, base64, file);
}

/* Fills the next file of the array, which has room for it. */
static bool read_file(const struct json_place *place, json_t *object, struct file_array *array)
{
    static const char *const members[] = {"path", "content", "ref", "encoding", NULL};
    struct request_file *file = &array->files[array->count];
    const char *path;

    if (!json_read_known_members(place, object, members))
        return false;
    struct json_place path_place = json_place_named(place, "path");
    if (!json_read_string(&path_place, json_object_get(object, "path"), 1, REQUEST_PATH_LIMIT,
                          &path) ||
        !json_check_relative_path(&path_place, path) ||
        !check_collisions(&path_place, array, path) || !read_source(place, object, file))
        return false;
    file->path = copy_bytes(path, strlen(path));
    array->count++; /* also without a path: the content is the array's to free */
    return file->path || json_place_out_of_memory(place);
}

bool request_files_read(const struct json_place *place, json_t *array, size_t limit,
                        struct request_file **ret_files, size_t *ret_count)
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
