/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the copying of an interpreter into sandboxes: see fork_server.h. */
#include "backends/process/python/fork_server.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/messages/template_message.h"
#include "backends/process/program/main_program.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/sandbox_clone.h"
#include "base/cleanup.h"
#include "protocol/channel.h"
#include "protocol/preparation_outcome.h"

/* The file that this process executes, as the host has it. */
static struct {
    char path[PATH_MAX];
    struct stat status;
} executable;

static bool find_executable(void)
{
    ssize_t length = readlink("/proc/self/exe", executable.path, sizeof(executable.path) - 1);
    return length > 0 && stat("/proc/self/exe", &executable.status) == 0;
}

/* A copy calls no execve, so its /proc/self/exe is the host's file and not the view's. Only the
 * file's owner and mode keep a program from writing to it (CVE-2019-5736). */
static bool executable_is_roots(void)
{
    return executable.status.st_uid == 0 && (executable.status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool has_one_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;
    if (!tasks)
        return false;
    for (struct dirent *task; (task = readdir(tasks));)
        if (task->d_name[0] != '.')
            count++;
    (void)closedir(tasks);
    return count == 1;
}

static void send_outcome(char first, const struct preparation_outcome *outcome)
{
    char words[PREPARATION_WORDS];
    size_t length =
        preparation_write(first, (enum preparation_kind)outcome->kind, outcome->detail, words);
    if (channel_send(FORK_SERVER_FD_SUPERVISOR, words, length, NULL, 0) < 0)
        _exit(0);
}

_Noreturn void fork_server_refuse(const char *why)
{
    struct preparation_outcome outcome;
    preparation_read(why, strlen(why), &outcome);
    send_outcome(FORK_SERVER_USELESS, &outcome);
    _exit(0);
}

/* For reasons that are found here. */
static _Noreturn void refuse_forks(enum preparation_kind kind, const char *detail)
{
    struct preparation_outcome outcome;
    preparation_set(&outcome, kind, detail);
    send_outcome(FORK_SERVER_USELESS, &outcome);
    _exit(0);
}

/* The descriptor of the next copy's report; the process ends with the supervisor. */
static int await_request(struct fork_server_request *ret)
{
    int report = -1;
    size_t count = 0;
    ssize_t length;
    do
        length = channel_receive(FORK_SERVER_FD_SUPERVISOR, ret, sizeof(*ret), &report, 1, &count);
    while (length < 0 && errno == EINTR);
    if (length != sizeof(*ret) || ret->word != FORK_SERVER_COPY || count != 1)
        _exit(0);
    ret->directory[sizeof(ret->directory) - 1] = '\0';
    return report;
}

static void send_copy(pid_t pid, int error, int pidfd)
{
    const struct fork_server_answer copy = {.pid = pid, .error_number = error};
    if (channel_send(FORK_SERVER_FD_SUPERVISOR, &copy, sizeof(copy), &pidfd, pid > 0 ? 1 : 0) < 0)
        _exit(0);
}

/* In the view the name must lead to the file that runs here. */
static void check_executable(const struct sandbox *sandbox)
{
    struct stat status;
    if (stat(executable.path, &status) < 0)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, errno, executable.path);
    if (status.st_dev != executable.status.st_dev || status.st_ino != executable.status.st_ino)
        main_program_fail(sandbox->report, RUN_FAILURE_INTERNAL, EXDEV, executable.path);
}

void fork_server_serve(const char *left_out, const struct fork_server_calls *calls,
                       struct sandbox *ret)
{
    static struct template_message contents; /* the sandboxes point into both */
    static struct fork_server_request request;
    struct preparation_outcome outcome;
    if (!find_executable() || !executable_is_roots())
        refuse_forks(PREPARATION_PATH, executable.path);
    if (!template_message_read(FORK_SERVER_FD_TEMPLATE, &contents))
        refuse_forks(PREPARATION_FAILED, "");
    interpreter_files_are_in(contents.files);
    if (contents.template.installer_commands)
        (void)interpreter_installers(); /* a copy may not be allowed to read them */
    preparation_set(&outcome, left_out[0] != '\0' ? PREPARATION_COPIED_WITHOUT : PREPARATION_COPIED,
                    left_out);
    close_fd(FORK_SERVER_FD_TEMPLATE);
    unsigned long flags = sandbox_namespace_flags(&contents.template) | CLONE_PARENT;
    if (calls->rehearse())
        return;
    /* Libraries have ended theirs at that fork (pthread_atfork(3)). */
    if (!has_one_thread())
        refuse_forks(PREPARATION_THREADS, "");
    (void)prctl(PR_SET_DUMPABLE, 0);
    send_outcome(FORK_SERVER_READY, &outcome);
    for (;;) {
        CLEANUP_CLOSE int report = await_request(&request);
        int pidfd = -1;
        calls->before();
        pid_t pid = clone_sandbox(flags, &pidfd);
        if (pid == 0) {
            arrange_report(TAKE_FD(report));
            sandbox_init(&contents.template, &contents.filters, &contents.outside,
                         request.directory, calls->begin_copy, ret);
            check_executable(ret);
            return;
        }
        int error = errno;
        calls->after();
        send_copy(pid, error, pidfd);
        close_fd(pid > 0 ? pidfd : -1);
    }
}
