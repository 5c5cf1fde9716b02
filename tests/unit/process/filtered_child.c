/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the child and the answers to its calls: see filtered_child.h. */
#include "filtered_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/program/notification.h"
#include "backends/process/supervisor/filter/seccomp_filter.h"
#include "base/cleanup.h"
#include "protocol/channel.h"
#include "tap_suite.h"

static int load(const struct seccomp_program *program, unsigned int flags)
{
    struct sock_fprog loaded = {.len = program->count, .filter = program->instructions};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
}

static bool become_filtered(const struct seccomp_filters *filters, int socket)
{
    const char word = 'l';
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        load(&filters->guard[SECCOMP_GUARD_UNPRIVILEGED], 0) < 0)
        return false;
    CLEANUP_CLOSE int listener =
        load(&filters->list_with_attributes, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    return listener >= 0 && channel_send(socket, &word, sizeof(word), &listener, 1) == 0;
}

static int take_listener(int socket)
{
    char word;
    int listener = -1;
    size_t count = 0;
    ck_assert_int_eq(channel_receive(socket, &word, sizeof(word), &listener, 1, &count), 1);
    ck_assert_uint_eq(count, 1);
    return listener;
}

static void answer(struct filtered_child *child, int listener)
{
    CLEANUP_FREE struct seccomp_notif *call = notification_receive(listener);
    if (!call)
        return;
    if (child->before_answer)
        child->before_answer(call);
    if (attribute_call_answer(listener, call, child->home))
        return;
    child->other_call = call->data.nr;
    (void)kill((pid_t)call->pid, SIGKILL);
}

static int serve(struct filtered_child *child, int listener, pid_t pid)
{
    int status;
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    while (poll(&ready, listener < 0 ? 0 : 1, listener < 0 ? 0 : -1) >= 0 || errno == EINTR) {
        if (ready.revents & POLLIN)
            answer(child, listener);
        else if (listener < 0 || (ready.revents & POLLHUP))
            break;
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : ENDED_BY_SIGNAL;
}

int filtered_child_run(struct filtered_child *child, int (*attempt)(void))
{
    static struct seccomp_filters filters;
    int pair[2];
    if (filters.list.count == 0)
        ck_assert_int_eq(seccomp_filters_make(&filters), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close_fd(pair[0]);
        (void)prctl(PR_SET_DUMPABLE, !child->hidden);
        if (fchdir(child->home) < 0 || (child->filtered && !become_filtered(&filters, pair[1])))
            _exit(ENDED_BY_SIGNAL - 1);
        _exit(attempt());
    }
    close_fd(pair[1]);
    CLEANUP_CLOSE int socket = pair[0];
    CLEANUP_CLOSE int listener = child->filtered ? take_listener(socket) : -1;
    return serve(child, listener, pid);
}
