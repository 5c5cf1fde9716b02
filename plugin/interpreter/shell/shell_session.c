/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the loop that takes the cells of a shell: see shell.h. */
#include "interpreter/shell/shell.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "interpreter/cell/cell.h"
#include "interpreter/shell/defined_names.h"
#include "interpreter/shell/shell_tools.h"
#include "protocol/run_description.h"

#define TEXT_LIMIT  (UINT32_C(64) << 20) /* bytes; a description is not longer */
#define FRAME_LIMIT (UINT32_C(64) << 10)

struct service {
    int cells;   /* the socket */
    int signals; /* SIGINT and SIGCHLD */
    struct shell shell;
    struct defined_names names;
    unsigned int number; /* of the last cell */
    bool in_cell;
    bool waits; /* the shell, for a cell */
    int code;   /* it, where there was no room for its file */
};

/* Nothing of a cell stays open here, so that the end of its output is seen. */
static void drop_streams(void)
{
    CLEANUP_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (nothing < 0 || dup2(nothing, fd) < 0)
            _exit(1);
    close_fd(RUN_RESULTS_FD);
}

/* A device of the host cannot be opened by its name in /proc: it is not in the view. */
static void settle_input(void)
{
    struct stat status;
    if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode))
        return;
    CLEANUP_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        _exit(1);
}

static void end_cell(struct service *service, unsigned int exit_code)
{
    struct wire_writer frame = {.limit = FRAME_LIMIT};
    defined_names_write_end(&service->names, exit_code, cell_home_is_empty(), &frame);
    shell_tools_end_cell();
    if (!frame.failed)
        (void)write_fully(RUN_RESULTS_FD, frame.bytes, frame.length);
    free(frame.bytes);
    drop_streams();
    close_fd(TAKE_FD(service->code));
    service->in_cell = false;
}

/* It was not even begun. */
static void refuse_cell(struct service *service, const char *why)
{
    (void)dprintf(STDERR_FILENO, "cell-%u: %s\n", service->number, why);
    end_cell(service, 1);
}

/* The code as a file, whose name is in the shell's messages. Where there is no room left, in
 * memory: such a cell may be the one that makes room. */
static bool write_code(struct service *service, const struct cell *cell, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s/cell-%u.sh", cell_temporary(), service->number);
    {
        /* Whatever stands there must not make us wait. */
        CLEANUP_CLOSE int file =
            open(ret, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
        if (file >= 0 && write_fully(file, cell->code, cell->code_length))
            return true;
        (void)unlink(ret);
    }
    service->code = shell_nameless_file();
    (void)snprintf(ret, size, "/proc/%d/fd/%d", (int)getpid(), service->code);
    return service->code >= 0 && write_fully(service->code, cell->code, cell->code_length);
}

static bool give_to_shell(struct service *service, const struct cell *cell)
{
    char file[PATH_MAX + 32];
    defined_names_forget(&service->names);
    struct wire_writer begin = {.limit = TEXT_LIMIT};
    begin_text_write(&begin, cell->arguments, cell->environment, cell->lasting);
    bool given = !begin.failed && write_code(service, cell, file, sizeof(file)) &&
                 shell_execute(&service->shell, file, begin.bytes, begin.length);
    free(begin.bytes);
    return given;
}

/* false: there is no further cell. */
static bool take_cell(struct service *service)
{
    struct cell cell;
    if (cell_take(service->cells, &cell) != CELL_TAKEN)
        return false;
    settle_input();
    service->number++;
    service->in_cell = true;
    shell_tools_begin_cell(cell.has_tools);
    if (cell.failure[0])
        refuse_cell(service, cell.failure);
    else if (give_to_shell(service, &cell))
        service->waits = false;
    else
        refuse_cell(service, "its code cannot be handed over");
    return true;
}

/* "PID STATUS": the shell waits for a cell; without a status it is the first one. Any other line is
 * a name. */
static void take_line(struct service *service, const char *line)
{
    char *rest;
    unsigned long pid = strtoul(line, &rest, 10);
    if (rest == line) {
        defined_names_add(&service->names, line);
        return;
    }
    shell_go_on(&service->shell, (pid_t)pid);
    service->waits = true;
    if (!service->names.begun)
        defined_names_begin(&service->names);
    else if (service->in_cell)
        end_cell(service, (unsigned int)strtoul(rest, NULL, 10) & 0xff);
}

static _Noreturn void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* Orphans of the sandbox come here too. */
static void reap_children(const struct service *service)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == service->shell.pid)
            end_as(status);
}

static void take_signals(const struct service *service)
{
    struct signalfd_siginfo told;
    while (read(service->signals, &told, sizeof(told)) == sizeof(told))
        /* It is for all that the cell has started, as a terminal's. */
        if (told.ssi_signo == SIGINT && service->in_cell)
            (void)kill(-1, SIGINT);
    reap_children(service);
}

static _Noreturn void serve(struct service *service)
{
    for (;;) {
        bool takes = service->waits && !service->in_cell;
        struct pollfd ready[3 + SHELL_TOOLS_WATCHED] = {
            {.fd = service->signals, .events = POLLIN},
            {.fd = service->shell.answers, .events = POLLIN},
            {.fd = takes ? service->cells : -1, .events = POLLIN},
        };
        shell_tools_watch(&ready[3]);
        if (poll(ready, COUNT_OF(ready), -1) < 0)
            continue;
        /* Its answer first: a shell that was replaced is none that has ended. */
        if (ready[1].revents & POLLIN) {
            const char *line;
            shell_read(&service->shell);
            while ((line = shell_next_line(&service->shell)))
                take_line(service, line);
        }
        if (ready[0].revents)
            take_signals(service);
        shell_tools_serve(&ready[3]);
        if (ready[2].revents && !take_cell(service))
            _exit(0);
    }
}

/* A copy of the shell is to be its child. The sandbox may have said so ahead of its filter. */
static bool adopts_orphans(void)
{
    int adopts = 0;
    return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0 ||
           (prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0L, 0L, 0L) == 0 && adopts);
}

int shell_session(const char *path, char *const *arguments)
{
    static struct service service = {.code = -1};
    sigset_t watched;
    service.cells = cell_socket_take();
    if (service.cells < 0)
        return 1;
    drop_streams();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&watched);
    (void)sigaddset(&watched, SIGINT);
    (void)sigaddset(&watched, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &watched, NULL) < 0 || !adopts_orphans())
        return 1;
    service.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    CLEANUP_CLOSE int tools = shell_tools_open();
    if (service.signals < 0 || tools < 0 || !shell_start(&service.shell, path, arguments, tools))
        return 1;
    close_fd(TAKE_FD(tools)); /* its end is seen once the shell and its children have none */
    serve(&service);
}
