/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns /dev of a sandbox: five character devices of the host and the links to a process's own
 * descriptors. No terminal (CVE-2017-5226). Runs in pid 1 of a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/process/sandbox/directories.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/steps/mount_fd.h"
#include "base/cleanup.h"

/* admin-guide/devices.rst of the kernel. */
#define MEMORY_DEVICES_MAJOR 1

static const struct {
    const char *name;
    unsigned int minor;
} devices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};

static const char *const links[][2] = {
    {"/proc/self/fd", "dev/fd"},
    {"/proc/self/fd/0", "dev/stdin"},
    {"/proc/self/fd/1", "dev/stdout"},
    {"/proc/self/fd/2", "dev/stderr"},
};

/* The node that was checked is the one that is mounted: a name in /dev may lead to something else
 * by then (CVE-2025-31133). */
static int show_device(int view, const char *name, unsigned int minor_number)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/dev/%s", name);
    CLEANUP_CLOSE int device = mount_fd_clone(AT_FDCWD, path);
    struct stat status;
    if (device < 0 || fstat(device, &status) < 0)
        return -1;
    if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(MEMORY_DEVICES_MAJOR, minor_number)) {
        errno = ENODEV;
        return -1;
    }
    if (mount_fd_restrict(device, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) < 0 ||
        make_empty_file(view, path + 1) < 0)
        return -1;
    return mount_fd_attach(device, view, path + 1);
}

int make_devices(struct sandbox *sandbox)
{
    if (make_directories(sandbox->view, "dev") < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        sandbox_detail(sandbox, devices[i].name);
        if (show_device(sandbox->view, devices[i].name, devices[i].minor) < 0)
            return -1;
    }
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        sandbox_detail(sandbox, links[i][1]);
        if (symlinkat(links[i][0], sandbox->view, links[i][1]) < 0)
            return -1;
    }
    return 0;
}
