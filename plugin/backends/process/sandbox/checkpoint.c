/* SPDX-License-Identifier: Apache-2.0 */
/* Making checkpoints: see checkpoint.h. */
#include "backends/process/sandbox/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/messages/checkpoint_protocol.h"
#include "backends/process/sandbox/checkpoint_obstacles.h"
#include "base/cleanup.h"
#include "base/write_fully.h"
#include "guest/files/file_snapshot.h"
#include "interpreter/cell/cell.h"
#include "protocol/run_description.h"
#include "protocol/session.h"

void checkpoint_prepare(struct checkpoint_maker *maker)
{
    *maker = (struct checkpoint_maker){.descriptors = checkpoint_count_descriptors(),
                                       .is_seen_by_init = !cell_has_mounts()};
}

/* Those that the init has ended; they do not send SIGCHLD, and wait(2) does not see them. */
static void reap_old(struct checkpoint_maker *maker)
{
    size_t kept = 0;
    for (size_t i = 0; i < maker->child_count; i++)
        if (waitpid(maker->children[i], NULL, __WALL | WNOHANG) == 0)
            maker->children[kept++] = maker->children[i];
    maker->child_count = kept;
}

/* As fork(2), but that its end sends no signal and is not seen by wait(2): it is none of the
 * program's children. No handler of pthread_atfork(3) runs and the interpreter is not told, because
 * what goes on in a checkpoint is to be what was. The C library's own word for its thread's id is
 * where the kernel was told to clear it. */
static pid_t clone_quietly(void)
{
    int *thread_id = NULL;
    unsigned long flags = 0;
    if (prctl(PR_GET_TID_ADDRESS, &thread_id) == 0 && thread_id)
        flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    /* Its place is the fourth or the fifth, as the architecture wants it; the other is not read. */
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, thread_id, thread_id);
}

/* The streams of the last cell belong to the interpreter alone. */
static void let_go_of_streams(void)
{
    CLEANUP_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(nothing, fd);
    if (nothing < 0 || dup3(nothing, RUN_RESULTS_FD, O_CLOEXEC) < 0)
        _exit(1);
}

static enum checkpoint_word take_files(struct file_snapshot *ret)
{
    static struct file_snapshot_places own;
    const struct file_snapshot_places *places = &file_snapshot_mounted_places;
    if (!cell_has_mounts()) {
        own = (struct file_snapshot_places){.home = cell_home(), .temporary = cell_temporary()};
        places = &own;
    }
    if (file_snapshot_take(places, ret))
        return CHECKPOINT_TAKEN;
    return errno == ENOMEM ? CHECKPOINT_MEMORY : CHECKPOINT_FILES;
}

/* Nobody looks into its memory. Without a file view nobody in its domain could, because nothing of
 * /proc can be opened there; and the init, which is to count what it has, must. */
static void hide(bool is_hidden)
{
    if (cell_has_mounts())
        (void)prctl(PR_SET_DUMPABLE, is_hidden ? 0 : 1);
}

static bool sleep_through(void)
{
    sigset_t all;
    long answer;
    (void)sigfillset(&all);
    while ((answer = syscall(CHECKPOINT_CALL, CHECKPOINT_SLEEP)) == CHECKPOINT_SLEEP_ON)
        (void)sigwaitinfo(&all, NULL);
    return answer == CHECKPOINT_WOKEN;
}

/* In the checkpoint. From the first instruction on no signal of the program's gets through, but
 * those that nobody can block. */
static void sleep_until_woken(int told)
{
    struct file_snapshot snapshot;
    char directory[PATH_MAX];
    bool is_somewhere = getcwd(directory, sizeof(directory)); /* else it is deleted */
    (void)syscall(CHECKPOINT_CALL, CHECKPOINT_BORN);
    hide(true);
    enum checkpoint_word word = take_files(&snapshot);
    let_go_of_streams();
    if (!write_fully(told, &word, sizeof(word)) || word != CHECKPOINT_TAKEN)
        _exit(1);
    close_fd(told);
    if (!sleep_through())
        _exit(1);
    hide(false);
    if (!file_snapshot_put_back(&snapshot))
        _exit(1);
    if (is_somewhere) /* another directory has that path now */
        (void)!chdir(directory);
    if (syscall(CHECKPOINT_CALL, CHECKPOINT_AWAKE) != 0)
        _exit(1);
    file_snapshot_clear(&snapshot);
}

/* What the checkpoint says of itself. */
static enum checkpoint_word hear(int told)
{
    enum checkpoint_word word;
    ssize_t length;
    do
        length = read(told, &word, sizeof(word));
    while (length < 0 && errno == EINTR);
    return length == sizeof(word) ? word : CHECKPOINT_MEMORY; /* it was killed */
}

/* With all signals blocked. Where it is CHECKPOINT_TAKEN, *ret_pid is about to sleep. */
static enum checkpoint_word copy(const struct checkpoint_maker *maker, pid_t *ret_pid,
                                 bool *ret_restored)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return CHECKPOINT_DESCRIPTORS;
    CLEANUP_CLOSE int hears = ends[0];
    CLEANUP_CLOSE int tells = ends[1];
    pid_t pid = clone_quietly();
    if (pid < 0)
        return CHECKPOINT_MEMORY;
    if (pid == 0) {
        close_fd(TAKE_FD(hears));
        sleep_until_woken(TAKE_FD(tells));
        *ret_restored = true;
        return CHECKPOINT_TAKEN;
    }
    close_fd(TAKE_FD(tells));
    *ret_pid = pid;
    if (maker->while_copied)
        maker->while_copied(hears);
    return hear(hears);
}

/* The init hears of every try, and has the last word on one that has succeeded. */
static enum checkpoint_word report(const struct checkpoint_maker *maker, enum checkpoint_word word,
                                   pid_t pid)
{
    uint64_t named = word == CHECKPOINT_TAKEN ? (uint64_t)pid : CHECKPOINT_NONE;
    long answer = syscall(CHECKPOINT_CALL, CHECKPOINT_MADE, named, (uint64_t)word,
                          (uint64_t)maker->child_count + 1);
    if (word != CHECKPOINT_TAKEN)
        return word;
    return answer < 0 || answer >= CHECKPOINT_WORD_COUNT ? CHECKPOINT_REFUSED
                                                         : (enum checkpoint_word)answer;
}

static void note_child(struct checkpoint_maker *maker, pid_t pid, enum checkpoint_word word)
{
    if (pid > 0 && checkpoint_word_is_taken(word) &&
        maker->child_count < COUNT_OF(maker->children)) {
        maker->children[maker->child_count++] = pid;
        return;
    }
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

/* The program has sent them to the checkpoint as it slept, and none is meant for what is restored.
 */
static void drop_pending_signals(const sigset_t *blocked)
{
    const struct timespec at_once = {.tv_sec = 0};
    while (sigtimedwait(blocked, NULL, &at_once) > 0)
        ;
}

enum checkpoint_word checkpoint_make(struct checkpoint_maker *maker, bool *ret_restored)
{
    sigset_t all;
    sigset_t before;
    pid_t pid = 0;
    *ret_restored = false;
    reap_old(maker);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    enum checkpoint_word word =
        checkpoint_find_obstacle(maker->descriptors, maker->child_count, maker->is_seen_by_init);
    if (word == CHECKPOINT_TAKEN)
        word = copy(maker, &pid, ret_restored);
    if (*ret_restored) {
        maker->child_count = 0; /* the older ones are its parent's */
        drop_pending_signals(&all);
    } else {
        word = report(maker, word, pid);
        note_child(maker, pid, word);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return word;
}

enum cell_wish cell_await(int cells)
{
    char kind;
    ssize_t length;
    do
        length = recv(cells, &kind, sizeof(kind), MSG_PEEK);
    while (length < 0 && errno == EINTR);
    if (length == sizeof(kind) && kind == SESSION_CELL_CHECKPOINT)
        return CELL_WITH_CHECKPOINT;
    if (length != sizeof(kind) || kind != SESSION_PARK)
        return CELL_ALONE;
    (void)recv(cells, &kind, sizeof(kind), MSG_DONTWAIT);
    return CELL_PARK;
}
