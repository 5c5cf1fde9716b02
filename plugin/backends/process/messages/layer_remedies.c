/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the remedies for layers of process mode: see layer_remedies.h. */
#include "backends/process/messages/layer_remedies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Is the first character of the file this one? A file that is not there is not. */
static bool setting_is(const char *path, char value)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char first = '\0';
    return fd >= 0 && read(fd, &first, 1) == 1 && first == value;
}

static bool setting_is_zero(const char *path)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[3] = {0};
    return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && text[0] == '0' &&
           (text[1] == '\n' || text[1] == '\0');
}

static const char *remedy_for_user_namespace(int error_number)
{
    if (setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
        return "AppArmor restricts user namespaces (Ubuntu 23.10 and later): install an AppArmor "
               "profile with "
               "\"userns,\" for code-execute-process, or: sysctl -w "
               "kernel.apparmor_restrict_unprivileged_userns=0";
    if (setting_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
        return "sysctl -w kernel.unprivileged_userns_clone=1";
    if (error_number == ENOSPC || setting_is_zero("/proc/sys/user/max_user_namespaces"))
        return "sysctl -w user.max_user_namespaces=16384 (inside a user namespace, its creator "
               "must allow more)";
    return isolation_layer_remedy(LAYER_USER_NAMESPACE);
}

const char *process_layer_remedy(enum isolation_layer layer, int error_number)
{
    return layer == LAYER_USER_NAMESPACE ? remedy_for_user_namespace(error_number)
                                         : isolation_layer_remedy(layer);
}

/* Of a kernel's release, such as "6.12.3": from 6.12 on the kernel itself has what is needed. */
static bool kernel_is_new_enough(void)
{
    struct utsname name;
    unsigned major = 0;
    unsigned minor = 0;
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 12));
}

const char *unprivileged_layer_remedy(enum isolation_layer layer, int error_number)
{
    if (layer == LAYER_LANDLOCK && error_number == EOPNOTSUPP && !kernel_is_new_enough())
        return "Linux 6.12 or newer is needed (Landlock ABI 6): without namespaces nothing else "
               "keeps a program from the gateway's processes";
    if (layer == LAYER_LANDLOCK)
        return "the kernel needs Landlock (CONFIG_SECURITY_LANDLOCK, and landlock in lsm=), and "
               "the container's seccomp profile must allow its system calls";
    return isolation_layer_remedy(layer);
}
