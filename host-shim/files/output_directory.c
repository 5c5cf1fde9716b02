/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files beneath a directory. Any thread. */
#include "files/output_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text_escape.h"

#define CODE             "file_not_written"
#define TEMPORARY_PREFIX ".toolhost-"
#define TEMPORARY_DIGITS 16u
#define CHUNK            (1u << 20)

bool output_directory_open(const char *path, bool force, struct output_directory *ret,
                           struct failure *failure)
{
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return failure_set_errno(failure, CODE, errno, "cannot make directory %s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failure_set_errno(failure, CODE, errno, "%s", path);
    *ret = (struct output_directory){fd, path, force};
    return true;
}

void output_directory_close(struct output_directory *directory)
{
    close_fd(directory->fd);
    directory->fd = -1;
}

/* The path as it is written, its parts escaped; NULL: it leads elsewhere. */
static char *make_path(const char *path, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool leads_elsewhere = false;
    if (!out) {
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    for (const char *part = path;; part++) {
        size_t part_length = strcspn(part, "/");
        leads_elsewhere = leads_elsewhere || part_length == 0 ||
                          (part_length <= 2 && strncmp(part, "..", part_length) == 0);
        text_escape_write(out, part, part_length);
        part += part_length;
        if (!*part)
            break;
        (void)fputc('/', out);
    }
    bool made = fclose(out) == 0;
    if (made && !leads_elsewhere)
        return TAKE_POINTER(text);
    (void)failure_set(failure, CODE, "its name leads out of the directory");
    return NULL;
}

/* The directory of the last part, made where it is not there; -1 leaves errno. */
static int open_parent(int top, char *path, const char **ret_name)
{
    CLEANUP_CLOSE int directory = fcntl(top, F_DUPFD_CLOEXEC, 3);
    char *part = path;
    for (char *slash = strchr(part, '/'); directory >= 0 && slash; slash = strchr(part, '/')) {
        *slash = '\0';
        if (mkdirat(directory, part, 0777) < 0 && errno != EEXIST)
            return -1;
        int next = openat(directory, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        *slash = '/';
        close_fd(directory);
        directory = next;
        part = slash + 1;
    }
    *ret_name = part;
    return TAKE_FD(directory);
}

static bool copy_content(int from, int to)
{
    off_t offset = 0;
    for (;;) {
        ssize_t copied = sendfile(to, from, &offset, CHUNK);
        if (copied == 0)
            return true;
        if (copied < 0 && errno != EINTR)
            return false;
    }
}

/* Without force a file system must refuse by itself: looking first would be a race. */
static bool put_in_place(int directory, const char *temporary, const char *name, bool force)
{
    if (force)
        return renameat(directory, temporary, directory, name) == 0;
    if (renameat2(directory, temporary, directory, name, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL || linkat(directory, temporary, directory, name, 0) < 0)
        return false;
    (void)unlinkat(directory, temporary, 0);
    return true;
}

static bool write_file(int directory, const char *name, int content, bool force)
{
    char temporary[sizeof(TEMPORARY_PREFIX) + TEMPORARY_DIGITS] = TEMPORARY_PREFIX;
    if (!hex_random(temporary + strlen(TEMPORARY_PREFIX), TEMPORARY_DIGITS))
        return false;
    CLEANUP_CLOSE int fd =
        openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    if (copy_content(content, fd) && put_in_place(directory, temporary, name, force))
        return true;
    int error = errno;
    (void)unlinkat(directory, temporary, 0);
    errno = error;
    return false;
}

bool output_directory_write(const struct output_directory *directory, const char *path, int content,
                            char **ret_path, struct failure *failure)
{
    const char *name = NULL;
    CLEANUP_FREE char *escaped = make_path(path, failure);
    if (!escaped)
        return false;
    CLEANUP_CLOSE int parent = open_parent(directory->fd, escaped, &name);
    if (parent < 0 || !write_file(parent, name, content, directory->force)) {
        if (errno == EEXIST)
            return failure_set(failure, CODE, "it exists, and --force was not given");
        return failure_set_errno(failure, CODE, errno, "it cannot be written");
    }
    size_t length = strlen(directory->path);
    bool has_slash = length > 0 && directory->path[length - 1] == '/';
    if (asprintf(ret_path, "%s%s%s", directory->path, has_slash ? "" : "/", escaped) < 0)
        return failure_out_of_memory(failure);
    return true;
}
