/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the writable part of a sandbox: one memory file system whose sub-directories are shown as
 * /tmp, the working directory and /dev/shm, so that one cap counts for all, and the files of the
 * description. Runs in pid 1 of a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/process/sandbox/directories.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/steps/mount_fd.h"
#include "base/cleanup.h"

/* Where the file system is while its parts are bound; gone afterwards. */
#define STAGE "scratch"

static const struct {
    const char *name;
    const char *place;
    mode_t mode;
} parts[] = {
    {STAGE "/tmp", "tmp", 01777},
    {STAGE "/home", "home/sandbox", 0700},
    {STAGE "/shm", "dev/shm", 01777},
};

static int show_part(int view, size_t index)
{
    if (mkdirat(view, parts[index].name, 0700) < 0 ||
        fchmodat(view, parts[index].name, parts[index].mode, 0) < 0 ||
        make_directories(view, parts[index].place) < 0)
        return -1;
    CLEANUP_CLOSE int part = mount_fd_clone(view, parts[index].name);
    return part < 0 ? -1 : mount_fd_attach(part, view, parts[index].place);
}

static int take_stage_down(int view)
{
    /* umount2() knows paths only, and a relative one starts at the working directory. */
    if (fchdir(view) < 0 || umount2(STAGE, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 || rmdir(STAGE) < 0)
        return -1;
    return 0;
}

/* Files by reference do not take the program's own room. 0: not limited. */
static uint64_t scratch_bytes(const struct sandbox *sandbox)
{
    uint64_t bytes = sandbox->template->scratch_bytes;
    return bytes > 0 ? bytes + sandbox->go.input_bytes : 0;
}

int mount_scratch(struct sandbox *sandbox)
{
    const struct sandbox_template *template = sandbox->template;
    CLEANUP_CLOSE int scratch =
        mount_fd_tmpfs(scratch_bytes(sandbox), template->scratch_inodes, "0755");
    if (scratch < 0 || mkdirat(sandbox->view, STAGE, 0700) < 0 ||
        mount_fd_attach(scratch, sandbox->view, STAGE) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        sandbox_detail(sandbox, parts[i].place);
        if (show_part(sandbox->view, i) < 0)
            return -1;
    }
    return take_stage_down(sandbox->view);
}

int write_files(struct sandbox *sandbox)
{
    CLEANUP_CLOSE int home = open(sandbox->places.home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (home < 0)
        return -1;
    struct run_files files = {.directory = home, .inputs = sandbox->inputs};
    int result = write_run_files(&files, sandbox->description);
    close_fd(TAKE_FD(sandbox->inputs));
    if (result < 0) {
        sandbox_detail(sandbox, files.refused);
        sandbox->failure = files.failure;
    }
    return result;
}

/* Its parts are one file system. */
bool scratch_is_full(void)
{
    struct statfs scratch;
    if (statfs(SANDBOX_HOME, &scratch) < 0)
        return false;
    return (scratch.f_blocks > 0 && scratch.f_bfree == 0) ||
           (scratch.f_files > 0 && scratch.f_ffree == 0);
}
