/* SPDX-License-Identifier: Apache-2.0 */
/* Takes files out of an output. On the thread of a call. */
#include "mcp/result/call_result.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "formats/result_file.h"
#include "formats/shown_result.h"
#include "mcp/result/resource.h"

#define LARGE_FILE             32768u /* bytes of its content as it stands in the JSON */
#define RESOURCE_LINK_REVISION "2025-06-18"

static json_t *read_encoded(const struct result_file *file, const struct artifact_store *artifacts)
{
    struct failure ignored;
    size_t limit = FILE_BLOCKS_IMAGE / 4 * 3;
    CLEANUP_CLOSE int fd = result_file_open(file, artifacts, &ignored);
    CLEANUP_FREE unsigned char *bytes = fd >= 0 ? malloc(limit + 1) : NULL;
    ssize_t length = bytes ? read_up_to(fd, (char *)bytes, limit + 1) : -1;
    if (length < 0 || (size_t)length > limit)
        return NULL;
    CLEANUP_FREE char *encoded = base64_encode(bytes, (size_t)length);
    return encoded ? json_string(encoded) : NULL;
}

/* NULL: it is too large, or gone. */
static json_t *image_block(const struct result_file *file, const struct artifact_store *artifacts)
{
    json_t *data = read_encoded(file, artifacts);
    return data ? json_pack("{s:s, s:o, s:s}", "type", "image", "data", data, "mimeType",
                            file->mime_type)
                : NULL;
}

static json_t *link_block(const struct result_file *file)
{
    json_t *block = resource_describe(file);
    if (block)
        (void)json_object_set_new(block, "type", json_string("resource_link"));
    return block;
}

static void keep_file(struct result_file *file, const struct artifact_store *artifacts)
{
    struct failure failure;
    if (file->uri || !file->content)
        return;
    if (!result_file_keep(file, artifacts, &failure))
        console_log_notice(failure.message);
}

struct file_blocks {
    json_t *content;
    bool has_links; /* in this revision */
    FILE *lines;    /* a text for the model */
};

static void write_line(const struct file_blocks *blocks, const struct result_file *file)
{
    (void)fputs("file: ", blocks->lines);
    result_file_describe(file, blocks->lines);
    if (file->uri)
        (void)fprintf(blocks->lines, ": %s", file->uri);
    (void)fputc('\n', blocks->lines);
}

/* The structured content repeats neither what is an image block nor what is long. */
static void shorten_entry(const struct result_file *file, bool is_shown)
{
    bool is_long = json_string_length(file->content) > LARGE_FILE;
    if (is_shown || (is_long && file->uri))
        (void)json_object_del(file->entry, "content");
}

static bool add_file(const struct file_blocks *blocks, const struct artifact_store *artifacts,
                     struct result_file *file)
{
    json_t *image =
        shown_result_is_picture_type(file->mime_type) ? image_block(file, artifacts) : NULL;
    bool is_shown = image != NULL;
    keep_file(file, artifacts);
    write_line(blocks, file);
    if (image && json_array_append_new(blocks->content, image) != 0)
        return false;
    if (file->uri && blocks->has_links &&
        json_array_append_new(blocks->content, link_block(file)) != 0)
        return false;
    shorten_entry(file, is_shown);
    return true;
}

static bool add_files(const struct file_blocks *blocks, const struct artifact_store *artifacts,
                      const json_t *files)
{
    size_t index = 0;
    json_t *entry = NULL;
    json_array_foreach(files, index, entry)
    {
        struct result_file file;
        if (result_file_read(entry, &file) && !add_file(blocks, artifacts, &file))
            return false;
    }
    return true;
}

static void write_omitted(FILE *lines, const json_t *output, const char *member, const char *what)
{
    const json_t *omitted = json_object_get(output, member);
    result_omitted_describe(omitted, what, lines);
    if (json_is_object(omitted))
        (void)fputc('\n', lines);
}

bool file_blocks_add(const struct artifact_store *artifacts, const struct session_revision *session,
                     json_t *output, const json_t *displays, json_t *content)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    struct file_blocks blocks = {
        .content = content,
        .has_links = session_is_at_least(session, RESOURCE_LINK_REVISION),
        .lines = open_memstream(&text, &length),
    };
    if (!blocks.lines)
        return false;
    bool added = add_files(&blocks, artifacts, displays) &&
                 add_files(&blocks, artifacts, json_object_get(output, "files"));
    write_omitted(blocks.lines, output, "files_omitted", "files");
    write_omitted(blocks.lines, output, "results_omitted", "results");
    if (fclose(blocks.lines) != 0 || !added)
        return false;
    if (length == 0)
        return true;
    text[length - 1] = '\0'; /* the last line break */
    return json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", text)) ==
           0;
}
