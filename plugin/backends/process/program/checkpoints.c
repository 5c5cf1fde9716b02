/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoints of a session: see checkpoints.h. */
#include "backends/process/program/checkpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/messages/checkpoint_protocol.h"
#include "backends/process/program/copy_obstacles.h"
#include "backends/process/program/notification.h"
#include "backends/process/program/whole_tree.h"
#include "base/cleanup.h"
#include "base/deadline.h"

#define CHILDREN_LIMIT 16384 /* bytes of a list of pids */
#define WAKE_LIMIT_MS  5000  /* for one to put its files back */
#define QUICK_ROUNDS   3

static bool send_signal(const struct checkpoint *checkpoint, int number)
{
    return syscall(SYS_pidfd_send_signal, checkpoint->pidfd, number, NULL, 0) == 0;
}

static const struct checkpoint no_checkpoint = {.pidfd = -1, .score = -1};

static void release(struct checkpoint *checkpoint)
{
    close_fd(checkpoint->pidfd);
    close_fd(checkpoint->score);
    *checkpoint = no_checkpoint;
}

static bool has_order(struct checkpoints *checkpoints)
{
    checkpoints->has_order =
        checkpoints->has_order || oom_order_find(checkpoints->order.proc, &checkpoints->order);
    return checkpoints->has_order;
}

/* The kernel is to end it ahead of every checkpoint, and what it forks from now on. */
static void put_interpreter_first(struct checkpoints *checkpoints)
{
    if (checkpoints->is_first || checkpoints->interpreter == 0 || !has_order(checkpoints))
        return;
    CLEANUP_CLOSE int score = oom_order_open(&checkpoints->order, checkpoints->interpreter);
    checkpoints->is_first = score >= 0 && oom_order_set(score, checkpoints->order.others);
}

static struct checkpoint *find_in(struct checkpoint_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->kept[i].pid == pid)
            return &list->kept[i];
    return NULL;
}

/* Of all branches. */
static struct checkpoint *kept_at(struct checkpoints *checkpoints, pid_t pid)
{
    struct checkpoint *found = find_in(&checkpoints->list, pid);
    for (size_t i = 0; i < SESSION_BRANCHES_MOST && !found; i++) {
        struct sleeping_branch *branch = &checkpoints->asleep[i];
        found = branch->tip.pid == pid ? &branch->tip : find_in(&branch->list, pid);
    }
    return found && send_signal(found, 0) ? found : NULL;
}

/* It is a child of this process where its interpreter has ended; else that one reaps it. */
static void end_checkpoint(struct checkpoint *checkpoint)
{
    (void)send_signal(checkpoint, SIGKILL);
    while (waitpid(checkpoint->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    release(checkpoint);
}

static void forget_oldest(struct checkpoint_list *list)
{
    end_checkpoint(&list->kept[0]);
    list->count--;
    memmove(&list->kept[0], &list->kept[1], list->count * sizeof(list->kept[0]));
}

static void forget_list(struct checkpoint_list *list)
{
    while (list->count > 0)
        forget_oldest(list);
    list->is_of_last = false;
}

static void forget_branch(struct sleeping_branch *branch)
{
    forget_list(&branch->list);
    if (branch->tip.pid != 0)
        end_checkpoint(&branch->tip);
}

/* The pids of the children of this process; as many as were read. A process that is not dumpable
 * is among them (proc(5), /proc/PID/task/TID/children), and once its parent is dead every process
 * of the sandbox is one. */
static size_t read_children(pid_t *ret, size_t limit)
{
    char list[CHILDREN_LIMIT];
    (void)snprintf(list, sizeof(list), "/proc/self/task/%d/children", (int)getpid());
    CLEANUP_CLOSE int fd = open(list, O_RDONLY | O_CLOEXEC);
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

/* One that has to live as long as the sandbox. */
static bool is_spared(struct checkpoints *checkpoints, pid_t pid)
{
    return pid == whole_tree_guardian() || kept_at(checkpoints, pid);
}

/* Other processes than the interpreter: their state would not go back with it. */
static bool has_strangers(struct checkpoints *checkpoints)
{
    pid_t children[CHILDREN_LIMIT / 2];
    size_t count = read_children(children, COUNT_OF(children));
    for (size_t i = 0; i < count; i++)
        if (children[i] != checkpoints->interpreter && !is_spared(checkpoints, children[i]))
            return true;
    return count == 0; /* not even the interpreter: the list cannot be read */
}

/* The interpreter keeps nothing: it is that of a new branch. */
static void park(struct checkpoints *checkpoints, const struct checkpoint *tip)
{
    struct sleeping_branch *branch = &checkpoints->asleep[checkpoints->parked_as];
    *branch = (struct sleeping_branch){.tip = *tip, .list = checkpoints->list};
    checkpoints->list = (struct checkpoint_list){.count = 0};
}

static bool can_be_kept(const struct checkpoints *checkpoints)
{
    if (checkpoints->is_parking)
        return checkpoints->parked_as < SESSION_BRANCHES_MOST &&
               checkpoints->asleep[checkpoints->parked_as].tip.pid == 0;
    return checkpoints->limit > 0;
}

/* Where it cannot be stopped in a call that was taken. */
static void let_sleep(struct checkpoints *checkpoints, struct checkpoint *checkpoint)
{
    if (!checkpoints->looks || checkpoint->call == 0)
        return;
    (void)notification_answer(checkpoints->listener, checkpoint->call, CHECKPOINT_SLEEP_ON);
    checkpoint->call = 0;
}

/* While it waits for an answer its pid is its own. *ret_is_last: the kernel ends all else ahead of
 * it. */
static bool keep(struct checkpoints *checkpoints, bool *ret_is_last)
{
    struct checkpoint_list *list = &checkpoints->list;
    struct checkpoint next = checkpoints->next;
    next.pidfd = (int)syscall(SYS_pidfd_open, next.pid, 0);
    if (next.pidfd < 0 || !notification_is_valid(checkpoints->listener, next.call)) {
        close_fd(next.pidfd);
        return false;
    }
    *ret_is_last = checkpoints->is_first && oom_order_set(next.score, checkpoints->order.kept);
    checkpoints->next = no_checkpoint;
    let_sleep(checkpoints, &next);
    if (checkpoints->is_parking) {
        park(checkpoints, &next);
        return true;
    }
    list->kept[list->count++] = next; /* one more than the limit, for a moment */
    list->is_of_last = true;
    return true;
}

static enum checkpoint_word judge(struct checkpoints *checkpoints)
{
    pid_t interpreter = checkpoints->interpreter;
    bool is_last;
    if (has_strangers(checkpoints) ||
        (checkpoints->looks && copy_obstacles_has_children(interpreter, checkpoints->children)))
        return CHECKPOINT_PROCESSES;
    if (checkpoints->looks && copy_obstacles_shares_memory(interpreter))
        return CHECKPOINT_SHARED_MEMORY;
    if (!can_be_kept(checkpoints) || !keep(checkpoints, &is_last))
        return CHECKPOINT_REFUSED;
    return is_last || !checkpoints->needs_order ? CHECKPOINT_TAKEN : CHECKPOINT_EXPOSED;
}

/* Once the order for it is there, the checkpoint sleeps and the interpreter has named it, or has
 * said that there is none. */
static void settle(struct checkpoints *checkpoints)
{
    struct checkpoint *next = &checkpoints->next;
    struct checkpoint *made = &checkpoints->made;
    bool is_complete = made->pid == CHECKPOINT_NONE || made->pid == next->pid;
    if (!checkpoints->may_come || made->call == 0 || !is_complete)
        return;
    put_interpreter_first(checkpoints);
    enum checkpoint_word word =
        made->pid == CHECKPOINT_NONE ? checkpoints->why : judge(checkpoints);
    checkpoints->may_come = false;
    checkpoints->has_answer = checkpoints->is_parking;
    checkpoints->answer = word;
    if (next->pid != 0)
        (void)kill(next->pid, SIGKILL);
    (void)notification_answer(checkpoints->listener, made->call, word);
    if (!checkpoints->is_parking && checkpoints->list.count > checkpoints->limit)
        forget_oldest(&checkpoints->list);
    checkpoints->is_parking = false;
    release(next);
    *made = no_checkpoint;
}

void checkpoints_init(struct checkpoints *checkpoints)
{
    *checkpoints = (struct checkpoints){
        .order = {.proc = -1}, .next = no_checkpoint, .made = no_checkpoint, .born = no_checkpoint};
}

void checkpoints_begin_cell(struct checkpoints *checkpoints, size_t limit)
{
    /* Without one ahead of the last cell nothing leads back across that cell. */
    if (!checkpoints->list.is_of_last)
        forget_list(&checkpoints->list);
    checkpoints->limit = limit < CHECKPOINTS_MOST ? limit : CHECKPOINTS_MOST;
    checkpoints->in_cell = true;
    checkpoints->may_come = true;
    checkpoints->is_parking = false;
    checkpoints->list.is_of_last = false;
    settle(checkpoints);
}

void checkpoints_end_cell(struct checkpoints *checkpoints)
{
    checkpoints->in_cell = checkpoints->may_come = false;
}

void checkpoints_begin_park(struct checkpoints *checkpoints, uint32_t branch)
{
    checkpoints->may_come = true;
    checkpoints->is_parking = true;
    checkpoints->parked_as = branch;
    settle(checkpoints);
}

bool checkpoints_take_answer(struct checkpoints *checkpoints, enum checkpoint_word *ret)
{
    if (!checkpoints->has_answer)
        return false;
    checkpoints->has_answer = false;
    *ret = checkpoints->answer;
    return true;
}

void checkpoints_forget(struct checkpoints *checkpoints)
{
    forget_list(&checkpoints->list);
    for (size_t i = 0; i < SESSION_BRANCHES_MOST; i++)
        forget_branch(&checkpoints->asleep[i]);
}

/* The order of the cell may come behind the calls that are made for it, even behind those of the
 * cell before: whatever is too late for one cell waits for the next. */
static void take_sleeper(struct checkpoints *checkpoints, const struct checkpoint *sleeper)
{
    struct checkpoint *kept = kept_at(checkpoints, sleeper->pid);
    if (kept) {
        kept->call = sleeper->call;
        if (kept->pid != checkpoints->waking)
            let_sleep(checkpoints, kept);
        return;
    }
    if (checkpoints->next.pid == sleeper->pid) {
        checkpoints->next.call = sleeper->call;
    } else {
        if (checkpoints->next.pid != 0)
            (void)kill(checkpoints->next.pid, SIGKILL);
        release(&checkpoints->next);
        checkpoints->next = *sleeper;
        if (checkpoints->born.pid == sleeper->pid)
            checkpoints->next.score = TAKE_FD(checkpoints->born.score);
    }
    settle(checkpoints);
}

/* It has the score of the interpreter until it is kept. A number that is another process's by now
 * is told by the call that is over. */
static void take_born(struct checkpoints *checkpoints, const struct seccomp_notif *call)
{
    release(&checkpoints->born);
    checkpoints->born.pid = (pid_t)call->pid;
    if (has_order(checkpoints))
        checkpoints->born.score = oom_order_open(&checkpoints->order, checkpoints->born.pid);
    if (!notification_answer(checkpoints->listener, call->id, 0))
        release(&checkpoints->born);
}

bool checkpoints_take_call(struct checkpoints *checkpoints, const struct seccomp_notif *call)
{
    pid_t caller = (pid_t)call->pid;
    if (call->data.nr != CHECKPOINT_CALL)
        return false;
    if (call->data.args[0] == CHECKPOINT_SLEEP && caller != checkpoints->interpreter) {
        const struct checkpoint sleeper = {
            .pid = caller, .pidfd = -1, .score = -1, .call = call->id};
        take_sleeper(checkpoints, &sleeper);
        return true;
    }
    if (call->data.args[0] == CHECKPOINT_BORN && caller != checkpoints->interpreter) {
        take_born(checkpoints, call);
        return true;
    }
    if (call->data.args[0] == CHECKPOINT_AWAKE && caller == checkpoints->waking) {
        checkpoints->waking = 0;
        (void)notification_answer(checkpoints->listener, call->id, 0);
        return true;
    }
    if (call->data.args[0] == CHECKPOINT_MADE && caller == checkpoints->interpreter) {
        const struct checkpoint made = {
            .pid = (pid_t)call->data.args[1], .pidfd = -1, .score = -1, .call = call->id};
        uint64_t why = call->data.args[2];
        bool is_reason = why < CHECKPOINT_WORD_COUNT && why != CHECKPOINT_TAKEN;
        checkpoints->made = made;
        checkpoints->children = (size_t)call->data.args[3];
        checkpoints->why = is_reason ? (enum checkpoint_word)why : CHECKPOINT_REFUSED;
        settle(checkpoints);
        return true;
    }
    return false;
}

bool checkpoints_can_restore(const struct checkpoints *checkpoints, size_t cells)
{
    return cells > 0 && cells <= checkpoints->list.count && checkpoints->list.is_of_last;
}

/* true: there were some, which left their children to this process. Those that are not dumpable are
 * no exception. */
static bool kill_children(struct checkpoints *checkpoints)
{
    pid_t children[CHILDREN_LIMIT / 2];
    size_t count = read_children(children, COUNT_OF(children));
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (is_spared(checkpoints, children[i]))
            continue;
        found = true;
        (void)kill(children[i], SIGKILL);
        while (waitpid(children[i], NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    return found;
}

/* Mostly these are the interpreter, and then the checkpoints that it has left. Others are stopped,
 * so that none can fork. That is not done at once, because each checkpoint would make its call
 * again. */
static void kill_others(struct checkpoints *checkpoints)
{
    for (size_t i = 0; i < QUICK_ROUNDS; i++)
        if (!kill_children(checkpoints))
            return;
    whole_tree_signal(SIGSTOP);
    while (kill_children(checkpoints))
        ;
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
    if (call && checkpoints->home >= 0 &&
        attribute_call_answer(checkpoints->listener, call, checkpoints->home))
        return; /* it puts its files back */
    if (call && !checkpoints_take_call(checkpoints, call))
        (void)kill((pid_t)call->pid, SIGKILL);
}

/* Its own word that it goes on counts: it may have been killed just before. */
static bool wake(struct checkpoints *checkpoints, struct checkpoint *checkpoint)
{
    uint64_t deadline_ms = monotonic_ms() + WAKE_LIMIT_MS;
    checkpoints->waking = checkpoint->pid;
    whole_tree_signal(SIGCONT);
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
static void forget_newest(struct checkpoint_list *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release(&list->kept[--list->count]);
}

/* Nothing of what came before it is waited for. */
static void begin_anew(struct checkpoints *checkpoints, pid_t interpreter)
{
    checkpoints->interpreter = interpreter;
    checkpoints->waking = 0;
    checkpoints->in_cell = checkpoints->may_come = checkpoints->is_parking = false;
    release(&checkpoints->next);
    release(&checkpoints->born);
    checkpoints->made = no_checkpoint;
    checkpoints->is_first = false;
    checkpoints->all_sleep = false;
}

/* Kills what is no checkpoint; this one is none from now on. */
static bool go_on_as(struct checkpoints *checkpoints, struct checkpoint *sleeper)
{
    kill_others(checkpoints);
    bool is_awake = send_signal(sleeper, 0) && wake(checkpoints, sleeper);
    begin_anew(checkpoints, is_awake ? sleeper->pid : 0);
    release(sleeper);
    return is_awake;
}

bool checkpoints_restore(struct checkpoints *checkpoints, size_t cells)
{
    struct checkpoint_list *list = &checkpoints->list;
    forget_newest(list, cells - 1);
    bool is_awake = go_on_as(checkpoints, &list->kept[list->count - 1]);
    list->count--;
    list->is_of_last = list->count > 0;
    return is_awake;
}

/* One that has died is there until it is reaped. */
bool checkpoints_can_wake(const struct checkpoints *checkpoints, uint32_t branch)
{
    if (branch >= SESSION_BRANCHES_MOST || checkpoints->asleep[branch].tip.pid == 0)
        return false;
    struct pollfd its_end = {.fd = checkpoints->asleep[branch].tip.pidfd, .events = POLLIN};
    return poll(&its_end, 1, 0) == 0;
}

bool checkpoints_wake(struct checkpoints *checkpoints, uint32_t branch)
{
    struct sleeping_branch *wanted = &checkpoints->asleep[branch];
    forget_newest(&checkpoints->list, checkpoints->list.count);
    bool is_awake = go_on_as(checkpoints, &wanted->tip);
    checkpoints->list = wanted->list;
    *wanted = (struct sleeping_branch){.tip = no_checkpoint};
    return is_awake;
}

static bool has_sleeping(const struct checkpoints *checkpoints)
{
    bool has = false;
    for (size_t i = 0; i < SESSION_BRANCHES_MOST; i++)
        has = has || checkpoints->asleep[i].tip.pid != 0;
    return has;
}

void checkpoints_drop(struct checkpoints *checkpoints, uint32_t branch)
{
    if (branch < SESSION_BRANCHES_MOST) {
        forget_branch(&checkpoints->asleep[branch]);
        return;
    }
    if (!has_sleeping(checkpoints))
        return;
    forget_newest(&checkpoints->list, checkpoints->list.count);
    checkpoints->list.is_of_last = false;
    whole_tree_signal(SIGSTOP); /* until one is woken */
    kill_others(checkpoints);
    begin_anew(checkpoints, 0);
    checkpoints->all_sleep = true;
}
