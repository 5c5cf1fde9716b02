/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an audit log and names the first record that is not as it was written. Any thread. */
#include "audit_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "cleanup.h"

struct log_reader {
    FILE *file;
    char *line; /* AUDIT_LINE_LIMIT bytes */
};

static void log_reader_close(struct log_reader *reader)
{
    if (reader->file)
        (void)fclose(reader->file);
    free(reader->line);
}

/* The log's appenders are kept out, so that a line being written is not taken for a torn one. */
static bool log_reader_open(const char *path, struct log_reader *ret, struct failure *failure)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || flock(fd, LOCK_SH) < 0) {
        (void)failure_set_errno(failure, "unreadable_file", errno, "%s", path);
        return false;
    }
    ret->line = malloc(AUDIT_LINE_LIMIT);
    ret->file = fdopen(fd, "r");
    if (ret->file)
        (void)TAKE_FD(fd);
    if (ret->file && ret->line)
        return true;
    (void)failure_out_of_memory(failure);
    return false;
}

/* Reads one line with its break into buffer; 0 at the end, -1 when it is too long. */
static ssize_t read_line(FILE *file, char *buffer, size_t capacity)
{
    size_t length = 0;
    for (int byte = getc(file); byte != EOF; byte = getc(file)) {
        if (length == capacity)
            return -1;
        buffer[length++] = (char)byte;
        if (byte == '\n')
            break;
    }
    return (ssize_t)length;
}

static bool broken(struct failure *failure, uint64_t line_number, const char *how)
{
    return failure_set(failure, "audit_broken", "line %llu %s", (unsigned long long)line_number,
                       how);
}

static bool check_place(const struct audit_link *last, const struct audit_link *link,
                        const char *previous, uint64_t line_number, struct failure *failure)
{
    char how[128];
    if (link->seq != last->seq + 1) {
        (void)snprintf(how, sizeof(how),
                       "has seq %llu where %llu belongs: records were removed, added or reordered",
                       (unsigned long long)link->seq, (unsigned long long)(last->seq + 1));
        return broken(failure, line_number, how);
    }
    if (strcmp(previous, last->sha256) != 0)
        return broken(failure, line_number,
                      "does not follow the line before: that one was changed or replaced");
    return true;
}

static bool verify_line(char *text, ssize_t length, uint64_t line_number, struct audit_link *last,
                        struct failure *failure)
{
    if (length < 0)
        return broken(failure, line_number, "is longer than any record");
    if (text[length - 1] != '\n')
        return broken(failure, line_number, "is cut off: it has no end");
    struct audit_link link;
    char previous[AUDIT_SHA256_HEX + 1];
    struct failure why;
    if (!audit_line_check(text, (size_t)length - 1, &link, previous, &why))
        return broken(failure, line_number, why.message);
    if (!check_place(last, &link, previous, line_number, failure))
        return false;
    *last = link;
    return true;
}

static bool check_anchor(const char *anchor, bool seen, struct failure *failure)
{
    if (!anchor || seen)
        return true;
    (void)failure_set(failure, "audit_broken", "the record with sha256 %.64s is not in it", anchor);
    failure_set_hint(failure, "records were cut away from the end, or this is another log");
    return false;
}

bool audit_verify(const char *path, const char *anchor, struct audit_link *ret_last,
                  struct failure *failure)
{
    CLEANUP(log_reader_close) struct log_reader reader = {0};
    if (!log_reader_open(path, &reader, failure))
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): log_reader_close() frees it */
        return false;
    struct audit_link last = audit_link_none();
    bool anchor_seen = false;
    for (uint64_t line_number = 1;; line_number++) {
        ssize_t length = read_line(reader.file, reader.line, AUDIT_LINE_LIMIT);
        if (length == 0)
            break;
        if (!verify_line(reader.line, length, line_number, &last, failure))
            return false;
        anchor_seen = anchor_seen || (anchor && strcmp(anchor, last.sha256) == 0);
    }
    if (ferror(reader.file))
        return failure_set_errno(failure, "unreadable_file", errno, "%s", path);
    if (!check_anchor(anchor, anchor_seen, failure))
        return false;
    *ret_last = last;
    return true;
}
