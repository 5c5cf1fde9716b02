/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoints of a session: see checkpoints.h. */
#include "backends/process/program/checkpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/messages/checkpoint_protocol.h"
#include "backends/process/program/notification.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define CHILDREN_LIMIT 16384 /* bytes of a list of pids */
#define WAKE_LIMIT_MS  5000  /* for one to put its files back */

static bool send_signal(const struct checkpoint *checkpoint, int number)
{
    return syscall(SYS_pidfd_send_signal, checkpoint->pidfd, number, NULL, 0) == 0;
}

static struct checkpoint *kept_at(struct checkpoints *checkpoints, pid_t pid)
{
    for (size_t i = 0; i < checkpoints->count; i++)
        if (checkpoints->kept[i].pid == pid)
            return send_signal(&checkpoints->kept[i], 0) ? &checkpoints->kept[i] : NULL;
    return NULL;
}

/* Behind a restored cell it is a child of this process, else the interpreter reaps it. */
static void forget_oldest(struct checkpoints *checkpoints)
{
    (void)send_signal(&checkpoints->kept[0], SIGKILL);
    while (waitpid(checkpoints->kept[0].pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    close_fd(checkpoints->kept[0].pidfd);
    checkpoints->count--;
    memmove(&checkpoints->kept[0], &checkpoints->kept[1],
            checkpoints->count * sizeof(checkpoints->kept[0]));
}

/* The pids of the children of this process; as many as were read. A process that is not dumpable
 * is among them (proc(5), /proc/PID/task/TID/children), and once its parent is dead every process
 * of the sandbox is one. */
static size_t read_children(pid_t *ret, size_t limit)
{
    char list[CHILDREN_LIMIT];
    CLEANUP_CLOSE int fd = open("/proc/self/task/1/children", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
    size_t count = 0;
    if (length <= 0)
        return 0;
    list[length] = '\0';
    char *rest;
    for (char *word = strtok_r(list, " \n", &rest); word && count < limit;
         word = strtok_r(NULL, " \n", &rest))
        ret[count++] = (pid_t)strtol(word, NULL, 10);
    return count;
}

/* Other processes than the interpreter: their state would not go back with it. */
static bool has_strangers(struct checkpoints *checkpoints)
{
    pid_t children[CHILDREN_LIMIT / 2];
    size_t count = read_children(children, COUNT_OF(children));
    for (size_t i = 0; i < count; i++)
        if (children[i] != checkpoints->interpreter && !kept_at(checkpoints, children[i]))
            return true;
    return count == 0; /* not even the interpreter: the list cannot be read */
}

/* While it waits for an answer its pid is its own. */
static bool keep(struct checkpoints *checkpoints)
{
    struct checkpoint next = checkpoints->next;
    next.pidfd = (int)syscall(SYS_pidfd_open, next.pid, 0);
    if (next.pidfd < 0 || !notification_is_valid(checkpoints->listener, next.call)) {
        close_fd(next.pidfd);
        return false;
    }
    checkpoints->kept[checkpoints->count++] = next; /* one more than the limit, for a moment */
    checkpoints->is_of_last = true;
    return true;
}

static enum checkpoint_word judge(struct checkpoints *checkpoints)
{
    if (has_strangers(checkpoints))
        return CHECKPOINT_PROCESSES;
    return checkpoints->limit > 0 && keep(checkpoints) ? CHECKPOINT_TAKEN : CHECKPOINT_REFUSED;
}

/* Once the cell has begun, the checkpoint sleeps and the interpreter has named it, or has said that
 * there is none. */
static void settle(struct checkpoints *checkpoints)
{
    struct checkpoint *next = &checkpoints->next;
    struct checkpoint *made = &checkpoints->made;
    bool is_complete = made->pid == CHECKPOINT_NONE || made->pid == next->pid;
    if (!checkpoints->may_come || made->call == 0 || !is_complete)
        return;
    enum checkpoint_word word =
        made->pid == CHECKPOINT_NONE ? CHECKPOINT_REFUSED : judge(checkpoints);
    checkpoints->may_come = false;
    if (word != CHECKPOINT_TAKEN && next->pid != 0)
        (void)kill(next->pid, SIGKILL);
    (void)notification_answer(checkpoints->listener, made->call, word);
    if (checkpoints->count > checkpoints->limit)
        forget_oldest(checkpoints);
    *next = *made = (struct checkpoint){.pidfd = -1};
}

void checkpoints_begin_cell(struct checkpoints *checkpoints, size_t limit)
{
    /* Without one ahead of the last cell nothing leads back across that cell. */
    while (checkpoints->count > 0 && !checkpoints->is_of_last)
        forget_oldest(checkpoints);
    checkpoints->limit = limit < CHECKPOINTS_MOST ? limit : CHECKPOINTS_MOST;
    checkpoints->in_cell = true;
    checkpoints->may_come = true;
    checkpoints->is_of_last = false;
    settle(checkpoints);
}

void checkpoints_end_cell(struct checkpoints *checkpoints)
{
    checkpoints->in_cell = checkpoints->may_come = false;
}

void checkpoints_forget(struct checkpoints *checkpoints)
{
    while (checkpoints->count > 0)
        forget_oldest(checkpoints);
    checkpoints->is_of_last = false;
}

/* The order of the cell may come behind the calls that are made for it, even behind those of the
 * cell before: whatever is too late for one cell waits for the next. */
static void take_sleeper(struct checkpoints *checkpoints, const struct checkpoint *sleeper)
{
    struct checkpoint *kept = kept_at(checkpoints, sleeper->pid);
    if (kept) {
        kept->call = sleeper->call;
        return;
    }
    if (checkpoints->next.pid != 0 && checkpoints->next.pid != sleeper->pid)
        (void)kill(checkpoints->next.pid, SIGKILL);
    checkpoints->next = *sleeper;
    settle(checkpoints);
}

bool checkpoints_take_call(struct checkpoints *checkpoints, const struct seccomp_notif *call)
{
    pid_t caller = (pid_t)call->pid;
    if (call->data.nr != CHECKPOINT_CALL)
        return false;
    if (call->data.args[0] == CHECKPOINT_SLEEP && caller != checkpoints->interpreter) {
        const struct checkpoint sleeper = {.pid = caller, .pidfd = -1, .call = call->id};
        take_sleeper(checkpoints, &sleeper);
        return true;
    }
    if (call->data.args[0] == CHECKPOINT_AWAKE && caller == checkpoints->waking) {
        checkpoints->waking = 0;
        (void)notification_answer(checkpoints->listener, call->id, 0);
        return true;
    }
    if (call->data.args[0] == CHECKPOINT_MADE && caller == checkpoints->interpreter) {
        const struct checkpoint made = {
            .pid = (pid_t)call->data.args[1], .pidfd = -1, .call = call->id};
        checkpoints->made = made;
        settle(checkpoints);
        return true;
    }
    return false;
}

bool checkpoints_can_restore(const struct checkpoints *checkpoints, size_t cells)
{
    return cells > 0 && cells <= checkpoints->count && checkpoints->is_of_last;
}

/* All of them are stopped, so that none can fork, and each that dies leaves its children to this
 * process. Those that are not dumpable are no exception. */
static void kill_others(struct checkpoints *checkpoints)
{
    pid_t children[CHILDREN_LIMIT / 2];
    bool found = true;
    while (found) {
        size_t count = read_children(children, COUNT_OF(children));
        found = false;
        for (size_t i = 0; i < count; i++) {
            if (kept_at(checkpoints, children[i]))
                continue;
            found = true;
            (void)kill(children[i], SIGKILL);
            while (waitpid(children[i], NULL, __WALL) < 0 && errno == EINTR)
                ;
        }
    }
}

/* Until a call comes, or the checkpoint has died. */
static void hear(struct checkpoints *checkpoints, const struct checkpoint *checkpoint,
                 uint64_t deadline_ms)
{
    struct pollfd entries[] = {{.fd = checkpoints->listener, .events = POLLIN},
                               {.fd = checkpoint->pidfd, .events = POLLIN}};
    if (poll(entries, COUNT_OF(entries), deadline_poll_timeout(deadline_ms)) <= 0 ||
        (entries[0].revents & POLLIN) == 0)
        return;
    CLEANUP_FREE struct seccomp_notif *call = notification_receive(checkpoints->listener);
    if (call && !checkpoints_take_call(checkpoints, call))
        (void)kill((pid_t)call->pid, SIGKILL);
}

/* Its own word that it goes on counts: it may have been killed just before. */
static bool wake(struct checkpoints *checkpoints, struct checkpoint *checkpoint)
{
    uint64_t deadline_ms = monotonic_ms() + WAKE_LIMIT_MS;
    checkpoints->waking = checkpoint->pid;
    (void)kill(-1, SIGCONT);
    while (checkpoints->waking != 0 && monotonic_ms() < deadline_ms) {
        if (waitpid(checkpoint->pid, NULL, __WALL | WNOHANG) != 0)
            return false;
        uint64_t call = checkpoint->call;
        checkpoint->call = 0; /* it makes it again where this answer comes too late */
        if (call == 0 || !notification_answer(checkpoints->listener, call, CHECKPOINT_WOKEN))
            hear(checkpoints, checkpoint, deadline_ms);
    }
    return checkpoints->waking == 0;
}

/* They end with the processes that are no checkpoint. */
static void forget_newest(struct checkpoints *checkpoints, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close_fd(checkpoints->kept[--checkpoints->count].pidfd);
}

bool checkpoints_restore(struct checkpoints *checkpoints, size_t cells)
{
    forget_newest(checkpoints, cells - 1);
    struct checkpoint *newest = &checkpoints->kept[checkpoints->count - 1];
    (void)kill(-1, SIGSTOP);
    kill_others(checkpoints);
    bool is_awake = send_signal(newest, 0) && wake(checkpoints, newest);
    checkpoints->interpreter = is_awake ? newest->pid : 0;
    close_fd(newest->pidfd);
    checkpoints->count--;
    checkpoints->waking = 0;
    checkpoints->in_cell = checkpoints->may_come = false;
    checkpoints->next = checkpoints->made = (struct checkpoint){.pidfd = -1};
    checkpoints->is_of_last = checkpoints->count > 0;
    return is_awake;
}
