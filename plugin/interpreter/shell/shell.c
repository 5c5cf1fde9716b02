/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of the shell, and what it is told and tells: see shell.h. */
#include "interpreter/shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "base/write_fully.h"
#include "interpreter/cell/cell.h"
#include "interpreter/shell/shell_begin_text.h"
#include "interpreter/shell/shell_loop_text.h"
#include "protocol/run_description.h"

enum own_argument {
    OWN_C,
    OWN_BEGIN,
    OWN_NAME, /* $0 */
    OWN_LOOP,
    OWN_DIRECTORY,
    OWN_ORDERS,
    OWN_ANSWERS,
    OWN_BEGIN_FILE,
    OWN_COUNT
};

int shell_nameless_file(void)
{
    int memory = memfd_create("cell", MFD_CLOEXEC);
    return memory >= 0 ? memory
                       : open(cell_temporary(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

static bool open_channels(struct shell *shell)
{
    int orders[2];
    int answers[2];
    if (pipe2(orders, O_CLOEXEC) < 0 || pipe2(answers, O_CLOEXEC) < 0)
        return false;
    shell->orders_read = orders[0];
    shell->orders = orders[1];
    shell->answers = answers[0];
    shell->answers_write = answers[1];
    shell->begin = shell_nameless_file();
    return shell->begin >= 0;
}

/* Behind those that it has; the list is new, the strings are not. NULL: no memory. */
static char **with_own_arguments(char *const *given, const char *const own[OWN_COUNT])
{
    size_t count = string_list_count(given);
    char **list = calloc(count + OWN_COUNT + 1, sizeof(*list));
    if (!list)
        return NULL;
    memcpy(list, given, count * sizeof(*list));
    memcpy(&list[count], own, OWN_COUNT * sizeof(*list));
    return list;
}

/* A limit on open files may leave no such number: then no call can be made. */
static _Noreturn void become_shell(const char *path, char *const *arguments, int tools)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)dup2(tools, RUN_TOOLS_FD);
    (void)setpgid(0, 0); /* a program that signals its group means itself */
    (void)execv(path, arguments);
    _exit(127);
}

bool shell_start(struct shell *shell, const char *path, char *const *arguments, int tools)
{
    *shell = (struct shell){.length = 0};
    if (!open_channels(shell))
        return false;
    char directory[32];
    char orders[12];
    char answers[12];
    char begin[12];
    (void)snprintf(directory, sizeof(directory), "/proc/%d/fd", (int)getpid());
    (void)snprintf(orders, sizeof(orders), "%d", shell->orders_read);
    (void)snprintf(answers, sizeof(answers), "%d", shell->answers_write);
    (void)snprintf(begin, sizeof(begin), "%d", shell->begin);
    const char *const own[OWN_COUNT] = {
        [OWN_C] = "-c",
        [OWN_BEGIN] = shell_begin_text,
        [OWN_NAME] = arguments[0],
        [OWN_LOOP] = shell_loop_text,
        [OWN_DIRECTORY] = directory,
        [OWN_ORDERS] = orders,
        [OWN_ANSWERS] = answers,
        [OWN_BEGIN_FILE] = begin,
    };
    CLEANUP_FREE char **list = with_own_arguments(arguments, own);
    if (!list)
        return false;
    shell->pid = fork();
    if (shell->pid == 0)
        become_shell(path, list, tools);
    return shell->pid > 0;
}

bool shell_execute(struct shell *shell, const char *file, const void *commands, size_t length)
{
    return ftruncate(shell->begin, 0) == 0 && lseek(shell->begin, 0, SEEK_SET) == 0 &&
           write_fully(shell->begin, commands, length) &&
           write_fully(shell->orders, file, strlen(file)) && write_fully(shell->orders, "\n", 1);
}

void shell_read(struct shell *shell)
{
    if (shell->length == sizeof(shell->text)) /* no line of ours is so long */
        shell->length = 0;
    ssize_t length =
        read(shell->answers, &shell->text[shell->length], sizeof(shell->text) - shell->length);
    if (length > 0)
        shell->length += (size_t)length;
}

const char *shell_next_line(struct shell *shell)
{
    static char line[sizeof(shell->text)];
    char *end = memchr(shell->text, '\n', shell->length);
    if (!end)
        return NULL;
    size_t length = (size_t)(end - shell->text);
    memcpy(line, shell->text, length);
    line[length] = '\0';
    shell->length -= length + 1;
    memmove(shell->text, end + 1, shell->length);
    return line;
}

void shell_go_on(struct shell *shell, pid_t pid)
{
    if (pid <= 1 || pid == shell->pid)
        return;
    (void)kill(shell->pid, SIGKILL);
    /* Ours to wait for: the one before it is gone already, so its child has come to us. */
    while (waitpid(shell->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    shell->pid = pid;
}
