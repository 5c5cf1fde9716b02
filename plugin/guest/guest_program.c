/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of a program: see guest_program.h. Runs in the guest. */
#include "guest/guest_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=") + 1;
}

static bool has_variable(char *const *environment, size_t count, const char *variable)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(environment[i], variable, name_length(variable)) == 0)
            return true;
    return false;
}

/* The engine sets it: the run's own name is the same in each container. */
static bool is_engines_own(const char *variable)
{
    return strncmp(variable, "HOSTNAME=", sizeof("HOSTNAME=") - 1) == 0;
}

static size_t count_of(char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

char **program_environment(char *const *given)
{
    size_t given_count = count_of(given);
    char **environment = calloc(given_count + count_of(environ) + 1, sizeof(char *));
    if (!environment)
        return NULL;
    memcpy(environment, given, given_count * sizeof(char *));
    size_t count = given_count;
    for (char **variable = environ; *variable; variable++)
        if (!is_engines_own(*variable) && !has_variable(given, given_count, *variable))
            environment[count++] = *variable;
    return environment;
}

static const char *search_path(char *const *environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "";
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool program_find(const char *name, char *const *environment, char ret[PATH_MAX])
{
    if (name[0] == '/')
        return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX && is_program(ret);
    if (name[0] == '\0' || strchr(name, '/'))
        return false;
    for (const char *path = search_path(environment); *path;) {
        size_t length = strcspn(path, ":");
        if (path[0] == '/' &&
            snprintf(ret, PATH_MAX, "%.*s/%s", (int)length, path, name) < PATH_MAX &&
            is_program(ret))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static _Noreturn void become_program(const char *path, char *const *argv, char *const *environment,
                                     const int streams[3], const int *inherited, int report)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)setsid();
    bool ready = sigprocmask(SIG_SETMASK, &none, NULL) == 0;
    for (int i = 0; i < 3; i++)
        ready = ready && dup2(streams[i], i) >= 0;
    for (int i = 0; inherited && i < GUEST_INHERITED; i++)
        ready = ready && dup2(inherited[i], STDERR_FILENO + 1 + i) >= 0;
    if (ready)
        (void)execve(path, argv, environment);
    int error = errno;
    (void)!write(report, &error, sizeof(error));
    _exit(127);
}

/* 0 once the other end is closed by the execve; else what has failed. */
static int read_failure(int report)
{
    int error = 0;
    while (read(report, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    return error;
}

/* Both ends CLOEXEC, the first one non-blocking. */
static bool make_pipe(int ret[2])
{
    return pipe2(ret, O_CLOEXEC) == 0 && fcntl(ret[0], F_SETFL, O_NONBLOCK) == 0;
}

bool program_start(const char *path, char *const *argv, char *const *environment, int input,
                   const int inherited[GUEST_INHERITED], struct guest_program *ret)
{
    int output[2];
    int errors[2];
    int report[2];
    if (!make_pipe(output) || !make_pipe(errors) || pipe2(report, O_CLOEXEC) < 0)
        return false; /* the guest ends with it */
    const int streams[] = {input, output[1], errors[1]};
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0)
        become_program(path, argv, environment, streams, inherited, report[1]);
    close_fd(output[1]);
    close_fd(errors[1]);
    close_fd(report[1]);
    errno = read_failure(report[0]);
    close_fd(report[0]);
    *ret = (struct guest_program){.pid = pid, .outputs = {output[0], errors[0]}};
    return errno == 0;
}
