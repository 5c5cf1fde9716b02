/* SPDX-License-Identifier: Apache-2.0 */
/* Reads entries of "files". Any thread. */
#include "formats/result_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "base/write_fully.h"

bool result_file_read(json_t *entry, struct result_file *ret)
{
    bool is_text = strcmp(json_member_string(entry, "encoding", "utf-8"), "base64") != 0;
    const json_t *content = json_object_get(entry, "content");
    *ret = (struct result_file){
        .entry = entry,
        .path = json_member_string(entry, "path", ""),
        .mime_type = json_member_string(
            entry, "mime_type", content && is_text ? "text/plain" : "application/octet-stream"),
        .size = json_member_integer(entry, "size", -1),
        .content = json_is_string(content) ? content : NULL,
        .is_text = is_text,
        .uri = json_member_string(entry, "uri", NULL),
        .omitted = json_member_string(entry, "omitted", NULL),
        .active = json_member_true(entry, "active"),
    };
    return ret->path[0] != '\0';
}

/* The bytes of an inline content: decoded in *ret_decoded (new), or the text's own. */
static bool read_content(const struct result_file *file, unsigned char **ret_decoded,
                         const void **ret_bytes, size_t *ret_length)
{
    const char *text = json_string_value(file->content);
    size_t length = json_string_length(file->content);
    if (!file->is_text && base64_decode(text, length, ret_decoded, &length) != BASE64_OK)
        return false;
    *ret_bytes = file->is_text ? (const void *)text : *ret_decoded;
    *ret_length = length;
    return true;
}

static int open_content(const struct result_file *file, struct failure *failure)
{
    CLEANUP_FREE unsigned char *decoded = NULL;
    const void *bytes = NULL;
    size_t length = 0;
    if (!read_content(file, &decoded, &bytes, &length)) {
        (void)failure_set(failure, "provider_failed", "%s: its content is not Base64", file->path);
        return -1;
    }
    CLEANUP_CLOSE int fd = memfd_create("file", MFD_CLOEXEC);
    if (fd < 0 || !write_fully(fd, bytes, length) || lseek(fd, 0, SEEK_SET) < 0) {
        (void)failure_set_errno(failure, "internal", errno, "no memory for %s", file->path);
        return -1;
    }
    return TAKE_FD(fd);
}

int result_file_open(const struct result_file *file, const struct artifact_store *artifacts,
                     struct failure *failure)
{
    int fd = -1;
    if (file->content)
        return open_content(file, failure);
    if (!file->uri) {
        (void)failure_set(failure, "unknown_file", "%s",
                          file->omitted ? file->omitted : "no content");
        return -1;
    }
    json_auto_t *entry = artifact_store_find(artifacts, file->uri, &fd, failure);
    return entry ? fd : -1;
}

bool result_file_keep(struct result_file *file, const struct artifact_store *artifacts,
                      struct failure *failure)
{
    CLEANUP_CLOSE int fd = result_file_open(file, artifacts, failure);
    json_auto_t *kept = fd >= 0 ? artifact_store_keep(artifacts, file->entry, fd, failure) : NULL;
    json_t *uri = json_object_get(kept, "uri");
    if (!uri)
        return false;
    if (json_object_set(file->entry, "uri", uri) < 0)
        return failure_out_of_memory(failure);
    file->uri = json_string_value(uri);
    return true;
}

/* "18.2 kB" */
static void write_size(FILE *out, json_int_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 999.95 && unit + 1 < COUNT_OF(units); unit++)
        size /= 1000;
    (void)fprintf(out, unit > 0 ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

static void write_escaped(FILE *out, const char *text)
{
    text_escape_write(out, text, strlen(text));
}

void result_file_describe(const struct result_file *file, FILE *out)
{
    write_escaped(out, file->path);
    (void)fputs(" (", out);
    write_escaped(out, file->mime_type);
    if (file->size >= 0) {
        (void)fputs(", ", out);
        write_size(out, file->size);
    }
    if (file->active)
        (void)fputs(", can run scripts", out);
    if (json_is_true(json_object_get(file->entry, "not_scanned")))
        (void)fputs(", not searched for secrets", out);
    (void)fputc(')', out);
    if (file->omitted) {
        (void)fputs(": left out, ", out);
        write_escaped(out, file->omitted);
    }
}

void result_omitted_describe(const json_t *omitted, const char *what, FILE *out)
{
    json_int_t count = json_member_integer(omitted, "count", 0);
    json_int_t bytes = json_member_integer(omitted, "bytes", -1);
    if (!json_is_object(omitted))
        return;
    if (count == 0)
        (void)fprintf(out, "%s may be missing: ", what);
    else
        (void)fprintf(out, "%lld more %s", (long long)count, what);
    if (count != 0 && bytes >= 0) {
        (void)fputs(", ", out);
        write_size(out, bytes);
    }
    if (count != 0)
        (void)fputs(": left out, ", out);
    write_escaped(out, json_member_string(omitted, "reason", "no reason given"));
}
