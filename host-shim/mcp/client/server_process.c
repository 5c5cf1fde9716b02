/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends a server. The thread of the servers. */
#include "mcp/client/server_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/signal_mask.h"

#define MARK_TEXT SERVER_PROCESS_MARK "=1"

/* What MCP clients pass on, and the language. */
static const char *const passed_on[] = {"HOME", "LANG",  "LC_ALL", "LC_CTYPE", "LOGNAME",
                                        "PATH", "SHELL", "TERM",   "TZ",       "USER"};

struct environment {
    char *texts[COUNT_OF(passed_on)]; /* owned, as NAME=VALUE */
    char **own;                       /* owned: those of the file */
    size_t own_count;
    char **all; /* owned, NULL-terminated */
};

static void environment_clear(struct environment *environment)
{
    for (size_t i = 0; i < COUNT_OF(environment->texts); i++)
        free(environment->texts[i]);
    for (size_t i = 0; i < environment->own_count; i++)
        free(environment->own[i]);
    free(environment->own);
    free(environment->all);
}

static char *assignment(const char *name, const char *value)
{
    char *text = NULL;
    return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

/* The file's variables come first: of two with one name, getenv() finds the first. */
static bool add_own(const struct server_config *config, struct environment *environment)
{
    const char *name = NULL;
    const json_t *value = NULL;
    json_object_foreach(config->environment, name, value)
    {
        if (strcmp(name, SERVER_PROCESS_MARK) == 0)
            continue;
        char *text = assignment(name, json_string_value(value));
        if (!text)
            return false;
        environment->own[environment->own_count++] = text;
    }
    return true;
}

static bool environment_make(const struct server_config *config, struct environment *ret)
{
    static char mark[] = MARK_TEXT;
    size_t most = json_object_size(config->environment);
    ret->own = calloc(most + 1, sizeof(*ret->own));
    ret->all = calloc(most + COUNT_OF(passed_on) + 2, sizeof(*ret->all));
    if (!ret->own || !ret->all || !add_own(config, ret))
        return false;
    size_t count = 0;
    ret->all[count++] = mark;
    for (size_t i = 0; i < ret->own_count; i++)
        ret->all[count++] = ret->own[i];
    for (size_t i = 0; i < COUNT_OF(passed_on); i++) {
        const char *value = getenv(passed_on[i]);
        if (!value || json_object_get(config->environment, passed_on[i]))
            continue;
        ret->texts[i] = assignment(passed_on[i], value);
        if (!ret->texts[i])
            return false;
        ret->all[count++] = ret->texts[i];
    }
    return true;
}

/* Ends of the three pipes: the server's own, which it gets as 0 to 2. */
struct server_ends {
    int ends[3];
};

static void close_ends(struct server_ends *ends)
{
    for (size_t i = 0; i < COUNT_OF(ends->ends); i++)
        close_fd(ends->ends[i]);
}

static bool make_pipes(struct server_process *process, struct server_ends *ends)
{
    int *const ours[] = {&process->input, &process->output, &process->log};
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0)
            return false;
        bool we_write = i == STDIN_FILENO;
        *ours[i] = pair[we_write];
        ends->ends[i] = pair[!we_write];
        if (fcntl(*ours[i], F_SETFL, O_NONBLOCK) < 0)
            return false;
    }
    return true;
}

static int add_actions(posix_spawn_file_actions_t *files, const struct server_config *config,
                       const struct server_ends *ends)
{
    int error = 0;
    for (int i = 0; error == 0 && i < (int)COUNT_OF(ends->ends); i++)
        error = posix_spawn_file_actions_adddup2(files, ends->ends[i], i);
    if (error == 0 && config->directory)
        error = posix_spawn_file_actions_addchdir_np(files, config->directory);
    return error;
}

static int spawn_server(const struct server_config *config, const struct server_ends *ends,
                        char *const *variables, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0)
        return error;
    (void)posix_spawnattr_init(&attributes);
    spawn_attributes_set(&attributes, true);
    error = add_actions(&files, config, ends);
    if (error == 0)
        error =
            posix_spawnp(ret_pid, config->argv[0], &files, &attributes, config->argv, variables);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return error;
}

bool server_process_start(const struct server_config *config, struct server_process *ret,
                          struct failure *failure)
{
    CLEANUP(environment_clear) struct environment environment = {0};
    CLEANUP(close_ends) struct server_ends ends = {{-1, -1, -1}};
    CLEANUP(server_process_end) struct server_process process = SERVER_PROCESS_NONE;
    pid_t pid = 0;
    if (!environment_make(config, &environment))
        return failure_out_of_memory(failure);
    if (!make_pipes(&process, &ends))
        return failure_set_errno(failure, "server_unavailable", errno, "cannot be started");
    int error = spawn_server(config, &ends, environment.all, &pid);
    if (error != 0)
        return failure_set_errno(failure, "server_unavailable", error, "cannot start %s",
                                 config->argv[0]);
    process.pid = pid;
    process.pidfd = pidfd_open(pid, 0);
    if (process.pidfd < 0)
        return failure_set_errno(failure, "server_unavailable", errno, "cannot be watched");
    *ret = process;
    process = SERVER_PROCESS_NONE;
    return true;
}

void server_process_close_input(struct server_process *process)
{
    close_fd(TAKE_FD(process->input));
}

void server_process_signal(const struct server_process *process, int number)
{
    if (process->pid > 0)
        (void)kill(-process->pid, number);
}

/* The group is killed while its number is still ours: the leader is reaped last. */
void server_process_end(struct server_process *process)
{
    if (process->pid > 0) {
        server_process_signal(process, SIGKILL);
        (void)kill(process->pid, SIGKILL);
        while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_fd(process->pidfd);
    close_fd(process->input);
    close_fd(process->output);
    close_fd(process->log);
    *process = SERVER_PROCESS_NONE;
}
