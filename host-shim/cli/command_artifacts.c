/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost artifacts: the files that programs have left. Main thread. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "cli/commands.h"
#include "files/artifact_store.h"
#include "formats/result_file.h"

#define JSON_LIMIT (64u << 20) /* bytes of a file in a JSON text */

static void write_entry(FILE *page, json_t *entry)
{
    struct result_file file;
    struct tm utc;
    char until[32] = "?";
    time_t expires = json_member_integer(entry, "expires", 0);
    if (!result_file_read(entry, &file))
        return;
    if (gmtime_r(&expires, &utc))
        (void)strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", &utc);
    (void)fprintf(page, "%s  until %s  ", file.uri, until);
    result_file_describe(&file, page);
    (void)fputc('\n', page);
}

static void write_entries(FILE *page, const json_t *entries)
{
    size_t index = 0;
    json_t *entry = NULL;
    json_array_foreach(entries, index, entry) write_entry(page, entry);
    if (index == 0)
        (void)fputs("no files are kept\n", page);
}

static bool list_files(const struct artifact_store *artifacts, bool json, int out,
                       struct failure *failure)
{
    json_auto_t *entries = artifact_store_list(artifacts, failure);
    return entries && (json ? console_print_json(out, entries, failure)
                            : console_print_page(out, write_entries, entries, failure));
}

static bool print_content(int out, int fd, struct failure *failure)
{
    char bytes[65536];
    ssize_t got = 0;
    while ((got = read_up_to(fd, bytes, sizeof(bytes))) > 0) {
        if (!write_fully(out, bytes, (size_t)got))
            return failure_set_errno(failure, "internal", errno, "cannot write to standard output");
    }
    return got == 0 || failure_set_errno(failure, "unreadable_file", errno, "the kept file");
}

/* With its content in Base64, as in a result. */
static bool print_whole(int out, json_t *entry, int fd, struct failure *failure)
{
    size_t size = (size_t)json_member_integer(entry, "size", 0);
    if (size > JSON_LIMIT)
        return failure_set(failure, "file_too_large", "more than 64 MiB: leave --json out");
    CLEANUP_FREE unsigned char *bytes = malloc(size + 1);
    ssize_t length = bytes ? read_up_to(fd, (char *)bytes, size) : -1;
    CLEANUP_FREE char *encoded = length >= 0 ? base64_encode(bytes, (size_t)length) : NULL;
    if (!encoded || json_object_set_new(entry, "encoding", json_string("base64")) < 0 ||
        json_object_set_new(entry, "content", json_string(encoded)) < 0)
        return failure_out_of_memory(failure);
    return console_print_json(out, entry, failure);
}

static bool get_file(const struct artifact_store *artifacts, const char *name, bool json, int out,
                     struct failure *failure)
{
    CLEANUP_CLOSE int fd = -1;
    json_auto_t *entry = artifact_store_find(artifacts, name, &fd, failure);
    if (!entry)
        return failure_set_hint(failure, "toolhost artifacts list shows what is kept");
    return json ? print_whole(out, entry, fd, failure) : print_content(out, fd, failure);
}

static bool perform_action(const struct options *options, int out, struct failure *failure)
{
    bool list = strcmp(options->words[0], "list") == 0;
    CLEANUP(artifact_store_clear) struct artifact_store artifacts = {0};
    if (list != (options->word_count == 1))
        return failure_usage(failure, list ? "artifacts list takes no URI"
                                           : "artifacts get needs the URI of a file");
    if (!artifact_store_init(&artifacts, options->artifacts, options->artifacts_max_bytes,
                             options->artifacts_age_ms, failure))
        return false;
    return list ? list_files(&artifacts, options->json, out, failure)
                : get_file(&artifacts, options->words[1], options->json, out, failure);
}

int command_artifacts(const struct options *options, int out)
{
    struct failure failure;
    if (perform_action(options, out, &failure))
        return EXIT_SUCCESS;
    console_print_failure(&failure);
    return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_FAILURE;
}
