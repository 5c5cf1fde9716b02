/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the last whole line of an audit log, from the file's end. What stands behind it without a
 * line break at the end is torn: a crash or a full disk cut it off. On the thread that appends.
 */
#include <errno.h>
#include <string.h>

#include "audit/audit_file.h"
#include "base/cleanup.h"

#define SMALL_WINDOW 16384 /* enough for most last lines */
/* Else: a torn line, what is left of a mending of it, and the whole line before. */
#define LARGE_WINDOW (3 * (off_t)AUDIT_LINE_LIMIT)

/* The end of the file. */
struct window {
    char *bytes; /* owned */
    size_t size;
    bool whole; /* the file's first byte is in it */
};

static void window_free(struct window *window)
{
    free(window->bytes);
}

static bool window_read(const struct audit_file *file, off_t most, struct window *ret,
                        struct failure *failure)
{
    ret->whole = file->size <= most;
    ret->size = (size_t)(ret->whole ? file->size : most);
    ret->bytes = malloc(ret->size + 1);
    if (!ret->bytes)
        return failure_out_of_memory(failure);
    off_t begin = file->size - (off_t)ret->size;
    size_t done = 0;
    while (done < ret->size) {
        ssize_t got = pread(file->fd, ret->bytes + done, ret->size - done, begin + (off_t)done);
        if (got <= 0)
            return failure_set_errno(failure, "audit_unavailable", got < 0 ? errno : EIO,
                                     "cannot read %s", file->path);
        done += (size_t)got;
    }
    return true;
}

/* A torn line is one of ours: nothing is appended to a file of something else. Zeros are what some
 * file systems leave of a line when the power fails. */
static bool begins_as_ours(const char *text, size_t length)
{
    static const char begin[] = "{\"seq\":";
    size_t compared = length < sizeof(begin) - 1 ? length : sizeof(begin) - 1;
    return text[0] == '\0' || memcmp(text, begin, compared) == 0;
}

static bool take_last(const char *line, size_t length, const struct audit_keys *keys,
                      struct audit_tail *tail, struct failure *failure)
{
    CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
    if (!audit_line_check(line, length, keys, &entry, failure))
        return false;
    tail->starting = false;
    tail->last = entry.link;
    (void)snprintf(tail->next_key_id, sizeof(tail->next_key_id), "%s",
                   audit_own_entry_next_key(&entry));
    return true;
}

enum scan { SCAN_DONE, SCAN_BROKEN, SCAN_BEYOND_WINDOW };

/* Line by line from the end: torn ones, then one that is whole. Behind a torn line that has its
 * line break, only another torn line can follow: a repair that was cut off in its turn. */
static enum scan scan_backwards(const struct window *window, const struct audit_keys *keys,
                                struct audit_tail *tail, struct failure *failure)
{
    size_t end = window->size;
    bool at_end = true;
    while (end > 0) {
        bool ended = window->bytes[end - 1] == '\n';
        size_t text_end = ended ? end - 1 : end;
        const char *before = memrchr(window->bytes, '\n', text_end);
        if (!before && !window->whole)
            return SCAN_BEYOND_WINDOW;
        const char *line = before ? before + 1 : window->bytes;
        size_t length = (size_t)(window->bytes + text_end - line);
        if (take_last(line, length, keys, tail,
                      failure)) { /* the file's last line may lack its break */
            tail->lacks_break = !ended;
            break;
        }
        if ((ended && at_end) || audit_line_has_its_hash(line, length))
            return SCAN_BROKEN;
        if (!begins_as_ours(line, length)) {
            (void)failure_set(failure, "audit_broken", "is not an audit record");
            return SCAN_BROKEN;
        }
        end = (size_t)(line - window->bytes);
        at_end = false;
    }
    tail->torn_bytes = tail->lacks_break ? 0 : window->size - end;
    sha256_hex(window->bytes + end, tail->torn_bytes, tail->torn_sha256);
    return SCAN_DONE;
}

static bool refuse_last_line(struct failure *failure, const char *path, const char *how)
{
    (void)failure_set(failure, "audit_unavailable", "the last line of %s %s", path, how);
    return failure_set_hint(failure,
                            "inspect it with: toolhost audit verify FILE; keep the file, and "
                            "move it away to begin a new log");
}

bool audit_file_read_tail(const struct audit_file *file, const struct audit_keys *keys,
                          struct audit_tail *ret, struct failure *failure)
{
    static const off_t windows[] = {SMALL_WINDOW, LARGE_WINDOW};
    struct failure why;
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        CLEANUP(window_free) struct window window = {0};
        struct audit_tail tail = {.last = audit_link_none(), .starting = true};
        if (!window_read(file, windows[i], &window, failure))
            return false;
        enum scan scan = scan_backwards(&window, keys, &tail, &why);
        if (scan == SCAN_BROKEN)
            return refuse_last_line(failure, file->path, why.message);
        if (scan == SCAN_DONE) {
            *ret = tail;
            return true;
        }
    }
    return refuse_last_line(failure, file->path, "is longer than any record");
}
