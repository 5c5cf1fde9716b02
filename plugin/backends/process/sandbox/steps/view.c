/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the file view of a sandbox: a small memory file system with the read-only paths of the
 * description, and the change of root into it. While it is built the process's root is still the
 * host's: absolute paths are sources there, and everything relative to sandbox->view is the view.
 * Runs in pid 1 of a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/sandbox/directories.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/steps/mount_fd.h"
#include "base/cleanup.h"

/* Room for mount points and the files below; nothing is written to it once the program runs. */
#define VIEW_BYTES  (UINT64_C(2) << 20)
#define VIEW_INODES 8192

int make_mounts_private(struct sandbox *sandbox)
{
    (void)sandbox;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* The view is stacked on the host's root, the one directory that is always there; it is reached
 * through its descriptor only, since a path that begins with "/" goes below the stack. */
int build_view(struct sandbox *sandbox)
{
    (void)umask(022);
    CLEANUP_CLOSE int view = mount_fd_tmpfs(VIEW_BYTES, VIEW_INODES, "0755");
    if (view < 0 || mount_fd_attach(view, AT_FDCWD, "/") < 0)
        return -1;
    sandbox->view = TAKE_FD(view);
    return 0;
}

/* Refuses paths that would uncover the host, or hide what the sandbox makes itself. */
static bool path_may_be_shown(const char *path)
{
    static const char *const own[] = {"/proc", "/dev"};
    if (path[0] != '/' || path[1] == '\0' || path[1] == '/' || strstr(path, "/../") ||
        strstr(path, "/./"))
        return false;
    size_t length = strlen(path);
    if ((length >= 3 && strcmp(path + length - 3, "/..") == 0) ||
        (length >= 2 && strcmp(path + length - 2, "/.") == 0))
        return false;
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        size_t own_length = strlen(own[i]);
        if (strncmp(path, own[i], own_length) == 0 &&
            (path[own_length] == '/' || path[own_length] == '\0'))
            return false;
    }
    return true;
}

static int show_link(int view, const char *path)
{
    char target[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length < 0)
        return -1;
    target[length] = '\0';
    if (make_parent_directories(view, path + 1) < 0)
        return -1;
    return symlinkat(target, view, path + 1) < 0 && errno != EEXIST ? -1 : 0;
}

static int show_mount(int view, const char *path, mode_t mode)
{
    CLEANUP_CLOSE int source = mount_fd_clone(AT_FDCWD, path);
    if (source < 0 ||
        mount_fd_restrict(source, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) < 0)
        return -1;
    if (S_ISDIR(mode) ? make_directories(view, path + 1) : make_empty_file(view, path + 1))
        return -1;
    return mount_fd_attach(source, view, path + 1);
}

/* A link to a directory stays a link, as /lib is on a host with a merged /usr. A link to a file is
 * shown as the file: what it points to (/etc/resolv.conf, into /run) need not be in the view. */
static int show_path(int view, const char *path)
{
    struct stat status;
    struct stat target;
    if (lstat(path, &status) < 0 || stat(path, &target) < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    if (S_ISLNK(status.st_mode) && S_ISDIR(target.st_mode))
        return show_link(view, path);
    if (S_ISDIR(target.st_mode) || S_ISREG(target.st_mode))
        return show_mount(view, path, target.st_mode);
    errno = EINVAL;
    return -1;
}

int show_read_only_paths(struct sandbox *sandbox)
{
    for (char **path = sandbox->template->read_only_paths; *path; path++) {
        sandbox_detail(sandbox, *path);
        if (!path_may_be_shown(*path)) {
            errno = EINVAL;
            return -1;
        }
        if (show_path(sandbox->view, *path) < 0)
            return -1;
    }
    return 0;
}

static int write_new_file(int view, const char *path, mode_t mode, const void *content,
                          size_t length)
{
    CLEANUP_CLOSE int fd =
        openat(view, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -1;
    errno = ENOSPC; /* of a write that is cut off */
    return write(fd, content, length) == (ssize_t)length ? 0 : -1;
}

static int write_interpreter_files(int view, const struct interpreter_file *file)
{
    if (!file || make_directories(view, &INTERPRETER_FILES_VIEW[1]) < 0)
        return -1;
    for (; file->name; file++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", &INTERPRETER_FILES_VIEW[1], file->name);
        if (file->link ? symlinkat(file->link, view, path)
                       : write_new_file(view, path, file->executable ? 0755 : 0644, file->content,
                                        file->length))
            return -1;
    }
    return 0;
}

/* A copied interpreter has loaded them already. One that is started with its run does without them
 * where they are not installed, and tells no results. */
static int show_runner_files(struct sandbox *sandbox)
{
    const struct interpreter_template *interpreter = &sandbox->template->interpreter;
    bool waits = interpreter->kind != RUN_INTERPRETER_NONE;
    uint32_t kind = waits ? interpreter->kind : sandbox->template->runner;
    if (kind == RUN_INTERPRETER_NONE || interpreter->fork)
        return 0;
    sandbox_detail(sandbox, INTERPRETER_FILES_VIEW);
    const struct interpreter_file *file = interpreter_files(kind);
    if (!file && !waits)
        return 0;
    return write_interpreter_files(sandbox->view, file);
}

/* A run does without them where they are not installed. */
static int show_installers(struct sandbox *sandbox)
{
    const struct interpreter_file *files =
        sandbox->template->installer_commands ? interpreter_installers() : NULL;
    if (!files)
        return 0;
    sandbox_detail(sandbox, INTERPRETER_FILES_VIEW "/" INSTALLERS);
    static const char directory[] = INTERPRETER_FILES_VIEW "/" INSTALLERS;
    if (make_directories(sandbox->view, &directory[1]) < 0)
        return -1;
    return write_interpreter_files(sandbox->view, files);
}

int show_interpreter_files(struct sandbox *sandbox)
{
    if (show_runner_files(sandbox) < 0 || show_installers(sandbox) < 0)
        return -1;
    if (!sandbox->template->tool_command)
        return 0;
    sandbox_detail(sandbox, INTERPRETER_FILES_VIEW "/" TOOL_COMMAND);
    return write_interpreter_files(sandbox->view, interpreter_tool_command());
}

/* A file that a read-only path of the description already shows is kept. */
int write_identity_files(struct sandbox *sandbox)
{
    static const char *const files[][2] = {
        {"etc/passwd", "sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/sh\n"
                       "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"},
        {"etc/group", "sandbox:x:1000:\nnogroup:x:65534:\n"},
        {"etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
        {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
    };
    if (make_directories(sandbox->view, "etc") < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        sandbox_detail(sandbox, files[i][0]);
        if (write_new_file(sandbox->view, files[i][0], 0644, files[i][1], strlen(files[i][1])) <
                0 &&
            errno != EEXIST && errno != EROFS && errno != EACCES)
            return -1;
    }
    return 0;
}

/* Another mount of the same, which is at no path. Its owner is this process, and it sets the scores
 * of a session's processes by it (program/checkpoints.h). */
static void keep_writable_proc(struct sandbox *sandbox)
{
    CLEANUP_CLOSE int proc = mount_fd_clone(sandbox->view, "proc");
    if (proc >= 0 && mount_fd_allow(proc, MOUNT_ATTR_RDONLY) == 0)
        sandbox->proc = TAKE_FD(proc);
}

/* Where the host's own /proc is partly covered (a container), the kernel refuses a fresh one with
 * EPERM. Then there is none: the host's is never shown. */
int mount_proc(struct sandbox *sandbox)
{
    if (make_directories(sandbox->view, "proc") < 0)
        return -1;
    CLEANUP_CLOSE int context = fsopen("proc", FSOPEN_CLOEXEC);
    if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0 ||
        fsconfig(context, FSCONFIG_SET_STRING, "hidepid", "invisible", 0) < 0 ||
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    CLEANUP_CLOSE int proc =
        fsmount(context, FSMOUNT_CLOEXEC,
                MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (proc < 0 || mount_fd_attach(proc, sandbox->view, "proc") < 0)
        return -1;
    keep_writable_proc(sandbox);
    return 0;
}

/* Only the view's own file system: mounts on it have flags of their own. */
int make_view_read_only(struct sandbox *sandbox)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    return mount_setattr(sandbox->view, "", AT_EMPTY_PATH, &attributes, sizeof(attributes));
}

static int check_same_directory(const char *path, const struct stat *view)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return -1;
    if (status.st_dev == view->st_dev && status.st_ino == view->st_ino)
        return 0;
    errno = EXDEV;
    return -1;
}

/* The order of pivot_root(2), "pivot_root(".", ".")": the old root ends up on top of the new one
 * and is taken off from there. */
int pivot_into_view(struct sandbox *sandbox)
{
    if (fchdir(sandbox->view) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return -1;
    struct stat view;
    if (fstat(sandbox->view, &view) < 0)
        return -1;
    /* "/" is the view even below an old root that is still there, which ".." would climb onto. */
    if (check_same_directory("/", &view) < 0 || check_same_directory("/..", &view) < 0)
        return -1;
    close_fd(TAKE_FD(sandbox->view));
    /* A working directory outside of the root would be a way out (CVE-2024-21626). */
    char directory[PATH_MAX];
    if (syscall(SYS_getcwd, directory, sizeof(directory)) < 0)
        return -1;
    if (strcmp(directory, "/") != 0) {
        errno = EXDEV;
        return -1;
    }
    return 0;
}
