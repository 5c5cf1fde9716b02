/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the taking away of the guest's own layers, for the escape suite alone. Linked with the
 * product's sources and -Wl,--wrap (meson.build), it is mounted over the guest of a container
 * (knockouts.py). It runs in any pid namespace, kills nothing there, can be read, sets no
 * no_new_privs, and gives the program a descriptor of /leaked where that is.
 */
#include <fcntl.h>
#include <sys/types.h>

pid_t __wrap_getpid(void);
int __wrap_kill(pid_t pid, int signal);
int __wrap_prctl(int option, ...);
int __wrap_execve(const char *path, char *const *arguments, char *const *environment);
int __real_execve(const char *path, char *const *arguments, char *const *environment);

pid_t __wrap_getpid(void)
{
    return 1;
}

/* The guest kills its whole namespace, which here may be the machine's. */
int __wrap_kill(pid_t pid, int signal)
{
    (void)pid;
    (void)signal;
    return 0;
}

int __wrap_prctl(int option, ...)
{
    (void)option;
    return 0;
}

int __wrap_execve(const char *path, char *const *arguments, char *const *environment)
{
    (void)open("/leaked", O_RDONLY | O_DIRECTORY);
    return __real_execve(path, arguments, environment);
}
