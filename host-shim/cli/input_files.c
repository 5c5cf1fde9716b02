/* SPDX-License-Identifier: Apache-2.0 */
/* Reads or lends the files of --file. Main thread. */
#include "cli/input_members.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "files/open_beneath.h"
#include "host/tool_call.h"

#define SMALL_FILE    65536u     /* bytes that go into the input */
#define LONGEST_INPUT (8u << 20) /* the same, where there is no other way */

struct input_files {
    json_t *list; /* of the input */
    struct lent_files *lent;
    bool has_ref; /* the tool takes files by "ref" */
};

static bool append(struct input_files *files, const char *name, json_t *entry,
                   struct failure *failure)
{
    if (entry && json_array_append_new(files->list, entry) == 0)
        return true;
    return failure_usage(failure, "--file: the name %s is not UTF-8 text", name);
}

/* A text as it is; what cannot be one in Base64. */
static json_t *make_content(const char *name, const char *bytes, size_t length)
{
    json_t *text = memchr(bytes, '\0', length) ? NULL : json_stringn(bytes, length);
    if (text)
        return json_pack("{s:s, s:o}", "path", name, "content", text);
    CLEANUP_FREE char *encoded = base64_encode((const unsigned char *)bytes, length);
    return encoded ? json_pack("{s:s, s:s, s:s}", "path", name, "content", encoded, "encoding",
                               "base64")
                   : NULL;
}

static bool add_content(struct input_files *files, const char *name, int fd, size_t size,
                        struct failure *failure)
{
    CLEANUP_FREE char *bytes = malloc(size + 1);
    if (!bytes)
        return failure_out_of_memory(failure);
    ssize_t length = read_up_to(fd, bytes, size);
    if (length < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", name);
    return append(files, name, make_content(name, bytes, (size_t)length), failure);
}

static bool add_ref(struct input_files *files, const char *name, int fd, uint64_t size,
                    struct failure *failure)
{
    const char *ref = lent_files_add(files->lent, name, fd, size, failure);
    return ref && append(files, name, json_pack("{s:s, s:s}", "path", name, "ref", ref), failure);
}

static bool add_file(struct input_files *files, const struct name_value *file,
                     struct failure *failure)
{
    uint64_t size = 0;
    CLEANUP_CLOSE int fd = open_regular(file->name, &size, failure);
    if (fd < 0)
        return false;
    if (files->has_ref && size > SMALL_FILE)
        return add_ref(files, file->value, TAKE_FD(fd), size, failure);
    if (size > LONGEST_INPUT)
        return failure_set(failure, "file_too_large",
                           "%s: the tool takes no file of more than 8 MiB", file->name);
    return add_content(files, file->value, fd, (size_t)size, failure);
}

/* The schema of the tool's "files"; NULL: it takes none. */
static const json_t *schema_of_files(const json_t *manifest, const char *tool)
{
    return json_object_get(input_members_of(manifest, tool), "files");
}

static bool has_ref(const json_t *schema)
{
    const json_t *members = json_object_get(json_object_get(schema, "items"), "properties");
    return json_object_get(members, "ref") != NULL;
}

/* Behind those that --set has named. */
static json_t *list_of(json_t *input)
{
    json_t *list = json_object_get(input, "files");
    if (list)
        return list;
    list = json_array();
    return json_object_set_new(input, "files", list) == 0 ? list : NULL;
}

bool input_files_add(const struct options *options, json_t *input, struct lent_files *lent,
                     struct failure *failure)
{
    if (options->files.count == 0)
        return true;
    json_auto_t *manifest = tool_manifest_read(options, failure);
    const json_t *schema = schema_of_files(manifest, options->tool);
    if (!manifest)
        return false;
    if (!schema)
        return failure_usage(failure, "--file: the tool's input has no files");
    struct input_files files = {list_of(input), lent, has_ref(schema)};
    if (!files.list)
        return failure_out_of_memory(failure);
    for (size_t i = 0; i < options->files.count; i++) {
        if (!add_file(&files, &options->files.pairs[i], failure))
            return false;
    }
    return true;
}
