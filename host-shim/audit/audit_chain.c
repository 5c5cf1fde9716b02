/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens the files of an audit log. Main thread. */
#include "audit/audit_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define FILES_MOST 800u /* each is kept open */

static void chain_file_clear(struct audit_chain_file *file)
{
    if (file->file)
        (void)fclose(file->file);
    free(file->path);
    *file = (struct audit_chain_file){0};
}

void audit_chain_close(struct audit_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        chain_file_clear(&chain->files[i]);
    free(chain->files);
    *chain = (struct audit_chain){0};
}

/* Under the lock, the size is never in the middle of a line that is being written. */
static bool open_file(const char *path, struct audit_chain_file *ret, struct failure *failure)
{
    CLEANUP(chain_file_clear) struct audit_chain_file file = {0};
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || flock(fd, LOCK_SH) < 0 || fstat(fd, &status) < 0 || flock(fd, LOCK_UN) < 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", path);
    if (!S_ISREG(status.st_mode))
        return failure_set(failure, "unreadable_file", "%s: not a regular file", path);
    file.size = status.st_size;
    file.path = strdup(path);
    file.file = fdopen(fd, "r");
    if (file.file)
        (void)TAKE_FD(fd);
    if (!file.file || !file.path)
        return failure_out_of_memory(failure);
    *ret = file;
    file = (struct audit_chain_file){0};
    return true;
}

size_t audit_chain_read_line(FILE *file, off_t size, char *line)
{
    size_t length = 0;
    off_t left = size - ftello(file);
    while (length < AUDIT_LINE_LIMIT && (off_t)length < left) {
        int byte = getc_unlocked(file);
        if (byte == EOF)
            break;
        line[length++] = (char)byte;
        if (byte == '\n')
            break;
    }
    return length;
}

static bool is_plain_name(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Beside the file itself; NULL when out of memory. */
static char *path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char *text = NULL;
    int directory = slash ? (int)(slash + 1 - path) : 0;
    return asprintf(&text, "%.*s%s", directory, path, name) < 0 ? NULL : text;
}

/* What the first line says of the file before. */
struct origin {
    char *path;   /* owned; NULL: there is none */
    uint64_t seq; /* of the first line; 0: it does not say */
};

static void origin_clear(struct origin *origin)
{
    free(origin->path);
}

/* A broken first line names no origin; audit_verify() reports it. */
static bool read_origin(const struct audit_chain_file *file, struct origin *ret,
                        struct failure *failure)
{
    static const struct audit_keys no_keys;
    CLEANUP_FREE char *line = malloc(AUDIT_LINE_LIMIT);
    CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
    struct failure why;
    if (!line)
        return failure_out_of_memory(failure);
    size_t length = audit_chain_read_line(file->file, file->size, line);
    if (fseek(file->file, 0, SEEK_SET) != 0)
        return failure_set_errno(failure, "unreadable_file", errno, "%s", file->path);
    if (length == 0 || !audit_line_check(line, length - 1, &no_keys, &entry, &why))
        return true;
    const char *name = audit_own_entry_previous_file(&entry);
    ret->seq = entry.link.seq;
    if (!name || !is_plain_name(name))
        return true;
    ret->path = path_beside(file->path, name);
    if (!ret->path)
        return failure_out_of_memory(failure);
    return true;
}

/* Where the line that names the previous file is broken, the files' names still give the order. */
static bool guess_origin(const struct audit_chain_file *file, struct origin *ret,
                         struct failure *failure)
{
    static const char suffix[] = ".[0-9]*-[0-9a-f]*";
    static const char any_suffixed[] = "*.[0-9]*-[0-9a-f]*";
    CLEANUP(globfree) glob_t found = {0};
    CLEANUP_FREE char *pattern = NULL;
    size_t length = strlen(file->path);
    bool is_old = fnmatch(any_suffixed, file->path, 0) == 0;
    if (is_old)
        length = (size_t)(strrchr(file->path, '.') - file->path);
    if (asprintf(&pattern, "%.*s%s", (int)length, file->path, suffix) < 0) {
        pattern = NULL;
        return failure_out_of_memory(failure);
    }
    if (glob(pattern, 0, NULL, &found) != 0)
        return true;
    for (size_t i = found.gl_pathc; i > 0; i--) {
        if (is_old && strcmp(found.gl_pathv[i - 1], file->path) >= 0)
            continue;
        ret->path = strdup(found.gl_pathv[i - 1]);
        if (!ret->path)
            return failure_out_of_memory(failure);
        break;
    }
    return true;
}

/* Puts the file before all others. */
static bool put_first(struct audit_chain *chain, struct audit_chain_file *file,
                      struct failure *failure)
{
    if (chain->count == FILES_MOST)
        return failure_set(failure, "unreadable_file", "the log has more than %u files",
                           FILES_MOST);
    struct audit_chain_file *files =
        reallocarray(chain->files, chain->count + 1, sizeof(*chain->files));
    if (!files)
        return failure_out_of_memory(failure);
    memmove(files + 1, files, chain->count * sizeof(*files));
    files[0] = *file;
    chain->files = files;
    chain->count++;
    *file = (struct audit_chain_file){0};
    return true;
}

static bool add_first(struct audit_chain *chain, const char *path, struct failure *failure)
{
    CLEANUP(chain_file_clear) struct audit_chain_file file = {0};
    return open_file(path, &file, failure) && put_first(chain, &file, failure);
}

static bool refuse_gap(const struct audit_chain_file *file, const struct origin *origin,
                       struct failure *failure)
{
    (void)failure_set(
        failure, "audit_broken",
        "%s continues %s, which is missing: the records before %llu have been removed", file->path,
        origin->path, (unsigned long long)origin->seq);
    return failure_set_hint(failure,
                            "--partial accepts a log whose oldest files have been moved away");
}

/* Ends the walk where a forged log names one of its files again. */
static bool chain_has(const struct audit_chain *chain, const char *path)
{
    for (size_t i = 0; i < chain->count; i++)
        if (strcmp(chain->files[i].path, path) == 0)
            return true;
    return false;
}

static bool add_predecessors(struct audit_chain *chain, bool partial, struct failure *failure)
{
    for (;;) {
        CLEANUP(origin_clear) struct origin origin = {0};
        const struct audit_chain_file *first = &chain->files[0];
        if (!read_origin(first, &origin, failure) ||
            (!origin.path && origin.seq != 1 && !guess_origin(first, &origin, failure)))
            return false;
        if (!origin.path || chain_has(chain, origin.path))
            return true;
        bool is_gone = access(origin.path, F_OK) < 0;
        if (is_gone && !partial)
            return refuse_gap(first, &origin, failure);
        if (is_gone)
            return true;
        if (!add_first(chain, origin.path, failure))
            return false;
    }
}

bool audit_chain_open(const char *const *names, size_t count, bool partial, struct audit_chain *ret,
                      struct failure *failure)
{
    CLEANUP(audit_chain_close) struct audit_chain chain = {0};
    for (size_t i = count; i > 0; i--)
        if (!add_first(&chain, names[i - 1], failure))
            return false;
    if (!add_predecessors(&chain, partial, failure))
        return false;
    *ret = chain;
    chain = (struct audit_chain){0};
    return true;
}
