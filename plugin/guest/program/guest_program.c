/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of a program: see guest_program.h. Runs in the guest. */
#include "guest/program/guest_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/layers/guest_layers.h"

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

/* Where the program finds its outputs. */
static const int numbers[PROGRAM_OUTPUTS] = {[PROGRAM_STDOUT] = STDOUT_FILENO,
                                             [PROGRAM_STDERR] = STDERR_FILENO,
                                             [PROGRAM_RESULTS] = RUN_RESULTS_FD};

/* The container's own limit has room for the files that the guest has written. */
static bool limit_files(uint64_t bytes)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    return bytes == 0 || setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* gVisor keeps a limit of processor time only where a process has set it itself. */
static bool limit_processor_time(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_CPU, &limit) == 0 && setrlimit(RLIMIT_CPU, &limit) == 0;
}

static _Noreturn void become_program(const struct program_order *order,
                                     const int outputs[PROGRAM_OUTPUTS], int report)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)setsid();
    bool ready = sigprocmask(SIG_SETMASK, &none, NULL) == 0;
    ready = ready && dup2(order->input, STDIN_FILENO) >= 0;
    for (size_t i = 0; i < PROGRAM_OUTPUTS; i++)
        ready = ready && (outputs[i] < 0 || dup2(outputs[i], numbers[i]) >= 0);
    for (int i = 0; order->inherited && i < GUEST_INHERITED; i++)
        ready = ready && dup2(order->inherited[i], STDERR_FILENO + 1 + i) >= 0;
    ready = ready && (order->script < 0 || dup2(order->script, PROGRAM_SCRIPT_FD) >= 0);
    ready = ready && (order->addon < 0 || dup2(order->addon, PROGRAM_ADDON_FD) >= 0);
    ready = ready && (order->tools < 0 || dup2(order->tools, RUN_TOOLS_FD) >= 0);
    ready = ready && limit_processor_time() && limit_files(order->file_bytes);
    if (ready && layers_apply())
        (void)execve(order->path, order->argv, order->environment);
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

/* A pipe for each output, CLOEXEC at both ends; the guest's are non-blocking. */
static bool make_pipes(size_t count, int ret_guest[PROGRAM_OUTPUTS],
                       int ret_program[PROGRAM_OUTPUTS])
{
    int ends[2] = {-1, -1};
    for (size_t i = 0; i < PROGRAM_OUTPUTS; i++) {
        if (i < count && (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0))
            return false;
        ret_guest[i] = i < count ? ends[0] : -1;
        ret_program[i] = i < count ? ends[1] : -1;
    }
    return true;
}

bool program_may_have_results(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > RUN_RESULTS_FD;
}

bool program_start(const struct program_order *order, struct guest_program *ret)
{
    int outputs[PROGRAM_OUTPUTS];
    int report[2];
    size_t count =
        order->has_results && program_may_have_results() ? PROGRAM_OUTPUTS : PROGRAM_RESULTS;
    if (!make_pipes(count, ret->outputs, outputs) || pipe2(report, O_CLOEXEC) < 0)
        return false; /* the guest ends with it */
    ret->pid = fork();
    if (ret->pid < 0)
        return false;
    if (ret->pid == 0)
        become_program(order, outputs, report[1]);
    for (size_t i = 0; i < count; i++)
        close_fd(outputs[i]);
    close_fd(report[1]);
    errno = read_failure(report[0]);
    close_fd(report[0]);
    return errno == 0;
}
