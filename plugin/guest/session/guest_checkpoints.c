/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the checkpoints of a session: see guest_checkpoints.h. Runs in the guest. */
#include "guest/session/guest_checkpoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process_stat.h"
#include "guest/files/stop_tree.h"
#include "guest/session/guest_session.h"

#define MAKE_LIMIT_MS 5000 /* for the interpreter to copy itself */
#define WAKE_LIMIT_MS 5000
#define WOKEN         'w'

static bool send_signal(const struct guest_checkpoint *checkpoint, int number)
{
    return syscall(SYS_pidfd_send_signal, checkpoint->pidfd, number, NULL, 0) == 0;
}

static void await_death(const struct guest_checkpoint *checkpoint)
{
    struct pollfd death = {.fd = checkpoint->pidfd, .events = POLLIN};
    while (poll(&death, 1, -1) < 0 && errno == EINTR)
        ;
}

static void release(struct guest_checkpoint *checkpoint)
{
    close_fd(checkpoint->socket);
    close_fd(checkpoint->pidfd);
    file_snapshot_clear(&checkpoint->files);
    checkpoint->pid = 0;
}

/* Its parent reaps it: the interpreter, or the guest. */
static void end_checkpoint(struct guest_checkpoint *checkpoint)
{
    if (send_signal(checkpoint, SIGKILL))
        await_death(checkpoint);
    release(checkpoint);
}

static void forget_oldest(struct guest_checkpoint_list *list)
{
    end_checkpoint(&list->kept[0]);
    list->count--;
    memmove(&list->kept[0], &list->kept[1], list->count * sizeof(list->kept[0]));
}

static void forget_list(struct guest_checkpoint_list *list)
{
    while (list->count > 0)
        forget_oldest(list);
    list->is_of_last = false;
}

/* They end with the processes that are no checkpoint. */
static void forget_newest(struct guest_checkpoint_list *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release(&list->kept[--list->count]);
}

static void forget_branch(struct guest_branch *branch)
{
    forget_list(&branch->list);
    if (branch->tip.pid != 0)
        end_checkpoint(&branch->tip);
}

static const struct guest_checkpoint *find_in(const struct guest_checkpoint_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->kept[i].pid == pid)
            return &list->kept[i];
    return NULL;
}

/* Of any branch. */
static bool is_kept(const struct guest_checkpoints *checkpoints, pid_t pid)
{
    const struct guest_checkpoint *found = find_in(&checkpoints->list, pid);
    for (size_t i = 0; i < SESSION_BRANCHES_MOST && !found; i++) {
        const struct guest_branch *branch = &checkpoints->asleep[i];
        found = branch->tip.pid == pid ? &branch->tip : find_in(&branch->list, pid);
    }
    return found && send_signal(found, 0);
}

static bool lives(pid_t pid, struct process_stat *ret)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return process_stat_read(AT_FDCWD, path, ret) && !process_stat_has_ended(ret);
}

static void close_directory(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

/* Lives another process than the guest, the checkpoints and these two? Kills each that does, where
 * that is wanted. Also where /proc cannot be read. */
static bool find_others(const struct guest_checkpoints *checkpoints, pid_t interpreter, pid_t made,
                        bool kills)
{
    CLEANUP(close_directory) DIR *directory = opendir("/proc");
    bool found = !directory;
    struct process_stat stat;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 1 || pid == interpreter || pid == made || is_kept(checkpoints, pid) ||
            !lives(pid, &stat))
            continue;
        found = true;
        if (kills)
            (void)kill(pid, SIGKILL);
    }
    return found;
}

/* What comes over that socket; the kernel says from whom. */
static bool hear(int socket, int limit_ms, unsigned char *ret, pid_t *ret_sender)
{
    struct iovec part = {.iov_base = ret, .iov_len = sizeof(*ret)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control.space)};
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    if (poll(&ready, 1, limit_ms) <= 0 ||
        recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(*ret))
        return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_CREDENTIALS ||
        header->cmsg_len != CMSG_LEN(sizeof(struct ucred)))
        return false;
    struct ucred sender;
    memcpy(&sender, CMSG_DATA(header), sizeof(sender));
    *ret_sender = sender.pid;
    return true;
}

/* With all of it stopped: what is called interpreter may be any program by now, and must not change
 * a path into a link meanwhile. */
static enum checkpoint_word take_files(pid_t interpreter, struct file_snapshot *ret)
{
    enum checkpoint_word word = CHECKPOINT_REFUSED;
    if (stop_tree(&interpreter, 1, 0)) {
        word = CHECKPOINT_TAKEN;
        if (!file_snapshot_take(&file_snapshot_mounted_places, ret))
            word = errno == ENOMEM ? CHECKPOINT_MEMORY : CHECKPOINT_FILES;
    }
    continue_tree();
    return word;
}

static enum checkpoint_word complete(const struct guest_checkpoints *checkpoints, pid_t interpreter,
                                     struct guest_checkpoint *made)
{
    struct process_stat stat;
    if (find_others(checkpoints, interpreter, made->pid, false))
        return CHECKPOINT_PROCESSES;
    made->pidfd = (int)syscall(SYS_pidfd_open, made->pid, 0);
    if (made->pidfd < 0 || !lives(made->pid, &stat) || stat.parent != interpreter)
        return CHECKPOINT_REFUSED;
    return take_files(interpreter, &made->files);
}

/* It tells them apart by what it has drawn: its generators are to be its own ahead of its first
 * copy. Not sooner: what is ended meanwhile would leave the word to the one that is woken. */
static bool begin_branch(struct guest_checkpoints *checkpoints, int cells)
{
    static const char word = GUEST_BEGINS_BRANCH;
    if (checkpoints->is_new_branch &&
        send(cells, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(word))
        return false;
    checkpoints->is_new_branch = false;
    return true;
}

/* A socket with the interpreter, whose other end it gets. -1: there is none. */
static int ask(struct guest_checkpoints *checkpoints, int cells)
{
    static const int on = 1;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    bool asked = setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
                 begin_branch(checkpoints, cells) &&
                 send_fds(cells, GUEST_ASKS_FOR_CHECKPOINT, &pair[1], 1);
    close_fd(pair[1]);
    if (asked)
        return pair[0];
    close_fd(pair[0]);
    return -1;
}

/* The caller's, where it is CHECKPOINT_TAKEN. */
static enum checkpoint_word make(struct guest_checkpoints *checkpoints, int cells,
                                 pid_t interpreter, struct guest_checkpoint *ret)
{
    struct guest_checkpoint made = {.pidfd = -1, .socket = ask(checkpoints, cells)};
    unsigned char said;
    if (made.socket < 0)
        return CHECKPOINT_REFUSED;
    enum checkpoint_word word = CHECKPOINT_REFUSED;
    if (hear(made.socket, MAKE_LIMIT_MS, &said, &made.pid) && said < CHECKPOINT_WORD_COUNT)
        word = (enum checkpoint_word)said;
    bool is_copy = word == CHECKPOINT_TAKEN && made.pid > 1 && made.pid != interpreter;
    if (is_copy)
        word = complete(checkpoints, interpreter, &made);
    else if (word == CHECKPOINT_TAKEN)
        word = CHECKPOINT_REFUSED;
    if (word == CHECKPOINT_TAKEN) {
        *ret = made;
        return word;
    }
    if (is_copy && made.pidfd >= 0 && send_signal(&made, SIGKILL))
        await_death(&made);
    release(&made); /* at the end of its socket a copy ends by itself */
    return word;
}

enum checkpoint_word guest_checkpoints_make(struct guest_checkpoints *checkpoints, int cells,
                                            pid_t interpreter, size_t limit)
{
    struct guest_checkpoint_list *list = &checkpoints->list;
    /* Without one ahead of the last cell nothing leads back across that cell. */
    if (!list->is_of_last)
        forget_list(list);
    list->is_of_last = false;
    if (limit == 0)
        return CHECKPOINT_WORD_COUNT;
    /* One more than the limit, for a moment. */
    enum checkpoint_word word = make(checkpoints, cells, interpreter, &list->kept[list->count]);
    if (word == CHECKPOINT_TAKEN) {
        list->count++;
        list->is_of_last = true;
    }
    if (list->count > limit)
        forget_oldest(list);
    return word;
}

enum checkpoint_word guest_checkpoints_park(struct guest_checkpoints *checkpoints, int cells,
                                            pid_t interpreter, size_t branch)
{
    struct guest_checkpoint made;
    if (branch >= SESSION_BRANCHES_MOST || checkpoints->asleep[branch].tip.pid != 0)
        return CHECKPOINT_REFUSED;
    enum checkpoint_word word = make(checkpoints, cells, interpreter, &made);
    if (word == CHECKPOINT_TAKEN) {
        checkpoints->asleep[branch] = (struct guest_branch){.tip = made, .list = checkpoints->list};
        checkpoints->list = (struct guest_checkpoint_list){.count = 0};
        checkpoints->is_new_branch = true;
    }
    return word;
}

void guest_checkpoints_forget(struct guest_checkpoints *checkpoints)
{
    forget_list(&checkpoints->list);
    for (size_t i = 0; i < SESSION_BRANCHES_MOST; i++)
        forget_branch(&checkpoints->asleep[i]);
}

bool guest_checkpoints_lead_back(const struct guest_checkpoints *checkpoints, size_t cells)
{
    return cells > 0 && cells <= checkpoints->list.count && checkpoints->list.is_of_last;
}

/* Stopped ones cannot fork. Those whose parents die meanwhile are the guest's to wait for. */
static void kill_others(const struct guest_checkpoints *checkpoints)
{
    static const struct timespec pause = {.tv_nsec = 200000};
    (void)kill(-1, SIGSTOP);
    while (find_others(checkpoints, 0, 0, true)) {
        (void)nanosleep(&pause, NULL);
        while (waitpid(-1, NULL, __WALL | WNOHANG) > 0)
            ;
    }
}

static bool wake(const struct guest_checkpoint *checkpoint)
{
    static const char word = WOKEN;
    unsigned char said;
    pid_t sender;
    if (!file_snapshot_put_back(&checkpoint->files) ||
        send(checkpoint->socket, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(word))
        return false;
    continue_tree();
    return hear(checkpoint->socket, WAKE_LIMIT_MS, &said, &sender) && said == WOKEN &&
           sender == checkpoint->pid;
}

/* Kills what is no checkpoint; this one is none from now on. */
static pid_t go_on_as(struct guest_checkpoints *checkpoints, struct guest_checkpoint *sleeper)
{
    kill_others(checkpoints);
    pid_t pid = send_signal(sleeper, 0) && wake(sleeper) ? sleeper->pid : 0;
    release(sleeper);
    checkpoints->is_new_branch = false;
    return pid;
}

pid_t guest_checkpoints_restore(struct guest_checkpoints *checkpoints, size_t cells)
{
    struct guest_checkpoint_list *list = &checkpoints->list;
    forget_newest(list, cells - 1);
    pid_t pid = go_on_as(checkpoints, &list->kept[list->count - 1]);
    list->count--;
    list->is_of_last = list->count > 0;
    return pid;
}

/* One that has died is there until it is reaped. */
bool guest_checkpoints_can_wake(const struct guest_checkpoints *checkpoints, size_t branch)
{
    if (branch >= SESSION_BRANCHES_MOST || checkpoints->asleep[branch].tip.pid == 0)
        return false;
    struct pollfd its_end = {.fd = checkpoints->asleep[branch].tip.pidfd, .events = POLLIN};
    return poll(&its_end, 1, 0) == 0;
}

pid_t guest_checkpoints_wake(struct guest_checkpoints *checkpoints, size_t branch)
{
    struct guest_branch *wanted = &checkpoints->asleep[branch];
    forget_newest(&checkpoints->list, checkpoints->list.count);
    pid_t pid = go_on_as(checkpoints, &wanted->tip);
    checkpoints->list = wanted->list;
    *wanted = (struct guest_branch){.tip = {.pid = 0}};
    return pid;
}

static bool has_sleeping(const struct guest_checkpoints *checkpoints)
{
    bool has = false;
    for (size_t i = 0; i < SESSION_BRANCHES_MOST; i++)
        has = has || checkpoints->asleep[i].tip.pid != 0;
    return has;
}

bool guest_checkpoints_drop(struct guest_checkpoints *checkpoints, size_t branch)
{
    if (branch < SESSION_BRANCHES_MOST) {
        forget_branch(&checkpoints->asleep[branch]);
        return false;
    }
    if (!has_sleeping(checkpoints))
        return false;
    forget_newest(&checkpoints->list, checkpoints->list.count);
    checkpoints->list.is_of_last = false;
    checkpoints->is_new_branch = false;
    kill_others(checkpoints);
    return true;
}
