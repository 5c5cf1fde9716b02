/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the main program of a run: see main_program.h. Runs in inits and subreapers,
 * single-threaded.
 */
#include "backends/process/program/main_program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/messages/interpreter_protocol.h"
#include "backends/process/program/notification.h"
#include "backends/process/program/single_process_fast_path.h"
#include "backends/process/program/whole_tree.h"
#include "base/cleanup.h"

_Noreturn void main_program_fail(int report_socket, enum run_failure failure, int error,
                                 const char *message)
{
    struct report report = {.kind = REPORT_FAILED, .failure = failure, .error_number = error};
    (void)snprintf(report.message, sizeof(report.message), "%s", message);
    (void)report_send(report_socket, &report);
    _exit(1);
}

int main_program_fork(struct main_program *program)
{
    sigset_t child_signal;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigemptyset(&child_signal);
    (void)sigaddset(&child_signal, SIGCHLD);
    if (sigprocmask(SIG_SETMASK, &child_signal, NULL) < 0)
        return -1;
    CLEANUP_CLOSE int children = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
    int pair[2];
    if (children < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    CLEANUP_CLOSE int parent_end = pair[0];
    CLEANUP_CLOSE int child_end = pair[1];
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0) {
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        *program = (struct main_program){.start_report = TAKE_FD(child_end),
                                         .children = -1,
                                         .listener = -1,
                                         .home = -1,
                                         .loadavg = -1};
        return 0;
    }
    /* This process must not hold the program's pipes open. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close_fd(fd);
    *program = (struct main_program){
        .pid = pid,
        .start_report = TAKE_FD(parent_end),
        .children = TAKE_FD(children),
        .listener = -1,
        .home = -1,
        .loadavg = -1,
    };
    checkpoints_init(&program->checkpoints);
    return 0;
}

/* While the child starts, modules that it imports may change attributes of files. Any other call
 * waits until the start is over. */
static void take_early_call(struct main_program *program)
{
    CLEANUP_FREE struct seccomp_notif *call = notification_receive(program->listener);
    if (call && !attribute_call_answer(program->listener, call, program->home))
        program->early_call = TAKE_POINTER(call);
}

/* Until the child has hung up nothing is read: woken by each report, this process would take the
 * processor from the child. Only the listener is taken at once. */
static enum report_state next_report(struct main_program *program, struct report *ret)
{
    struct pollfd ready[] = {{.fd = program->start_report}, {.fd = -1, .events = POLLIN}};
    bool wants_listener = program->is_filtered && program->listener < 0;
    while (!wants_listener && ready[0].revents == 0) {
        ready[1].fd = program->home < 0 || program->early_call ? -1 : program->listener;
        int count = poll(ready, COUNT_OF(ready), -1);
        if (count < 0 && errno != EINTR)
            break;
        if (count > 0 && (ready[1].revents & POLLIN))
            take_early_call(program);
        else if (count > 0 && ready[1].revents != 0)
            break; /* nobody is left behind the filter */
    }
    return report_receive_with(program->start_report, ret, &program->listener);
}

/* Waits for the child's execve, which closes its end. REPORT_READY and then end of file is success;
 * end of file alone is a death during set-up, which its exit status will explain. false: it has
 * failed. */
static bool watch_start(struct main_program *program, int supervisor)
{
    const struct report started = {.kind = REPORT_STARTED};
    struct report report;
    bool ready = false;
    while (next_report(program, &report) == REPORT_WHOLE) {
        if (report.kind == REPORT_FAILED) {
            (void)report_send(supervisor, &report);
            return false;
        }
        ready = report.kind == REPORT_READY;
        if (ready && program->supervised)
            supervision_begin(program->supervised, &report.limits, &report.isolation,
                              &program->supervision);
    }
    return !ready || report_send(supervisor, &started);
}

static bool is_program(const struct main_program *program, pid_t pid)
{
    bool is_one = pid == program->pid;
    for (size_t i = 0; i < program->other_count; i++)
        is_one = is_one || pid == program->others[i].pid;
    return is_one;
}

/* Reaps every child that has ended; true and *ret filled when a program of
 * the run was among them. */
static bool reap_children(const struct main_program *program, struct report *ret)
{
    bool ended = false;
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, WNOHANG, &usage);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0)
            return ended;
        if (!is_program(program, pid))
            continue;
        ended = true;
        const struct tree_usage used = tree_usage_of(&usage);
        *ret = (struct report){
            .kind = REPORT_ENDED,
            .wait_status = status,
            .cpu_us = used.user_us + used.system_us,
        };
    }
}

static bool asks_for_exit(const struct main_program *program, const struct seccomp_notif *call)
{
    return program->may_ask && (pid_t)call->pid == program->pid &&
           call->data.nr == EXIT_REQUEST_CALL && call->data.args[0] == EXIT_REQUEST_WORD;
}

/* Was the killed program the last process of a run without a pid namespace? *ret then has what the
 * run has used. */
static bool was_last(const struct main_program *program, uint64_t peak_bytes,
                     struct tree_usage *ret)
{
    struct rusage orphans;
    if (!single_process_is_left(program->pid, program->supervision.spared) ||
        !single_process_fast_path_usage(program->pid, ret) ||
        getrusage(RUSAGE_CHILDREN, &orphans) < 0)
        return false;
    const struct tree_usage before = tree_usage_of(&orphans);
    ret->user_us += before.user_us;
    ret->system_us += before.system_us;
    ret->peak_memory_bytes =
        peak_bytes > before.peak_memory_bytes ? peak_bytes : before.peak_memory_bytes;
    return true;
}

/* Its own end, as it has asked for it. peak_bytes: of its memory, before it was killed; 0: others
 * tell it. */
static struct report requested_end(const struct main_program *program,
                                   const struct seccomp_notif *call, uint64_t peak_bytes)
{
    struct report ended = {
        .kind = REPORT_ENDED,
        .wait_status = W_EXITCODE((int)(call->data.args[1] & 0xff), 0),
    };
    if (peak_bytes > 0)
        ended.tree_is_gone = was_last(program, peak_bytes, &ended.usage);
    else
        ended.tree_is_gone = program->memory_is_counted &&
                             single_process_fast_path_applies(program->loadavg, program->pid) &&
                             single_process_fast_path_usage(program->pid, &ended.usage);
    ended.cpu_us = ended.usage.user_us + ended.usage.system_us;
    return ended;
}

static struct report failed_watch(const char *message)
{
    struct report report = {
        .kind = REPORT_FAILED, .failure = RUN_FAILURE_INTERNAL, .error_number = errno};
    (void)snprintf(report.message, sizeof(report.message), "%s", message);
    return report;
}

/* A call that no honest program makes: the kernel holds the caller, and it never goes on. true and
 * *ret filled: the run ends with it, or because nobody could answer. */
static bool take_forbidden_call(struct main_program *program, int listener, struct report *ret)
{
    bool is_first = listener == program->listener;
    bool is_early = is_first && program->early_call;
    CLEANUP_FREE struct seccomp_notif *call =
        is_early ? TAKE_POINTER(program->early_call) : notification_receive(listener);
    if (!call && errno == ENOMEM) { /* else somebody would wait until the run's time is over */
        *ret = failed_watch("take a held system call");
        return true;
    }
    if (!call || (is_early && !notification_is_valid(listener, call->id)) ||
        (program->home >= 0 && attribute_call_answer(listener, call, program->home)) ||
        (is_first && checkpoints_take_call(&program->checkpoints, call)))
        return false;
    uint64_t peak_bytes = 0;
    bool asks = asks_for_exit(program, call);
    if (asks && program->supervised)
        (void)process_memory_peak(program->pid, &peak_bytes);
    /* It must not see the call fail, as it would once the listener is closed, nor go on in a
     * handler of a signal meanwhile. */
    (void)kill((pid_t)call->pid, SIGKILL);
    if (asks)
        *ret = requested_end(program, call, peak_bytes);
    else
        *ret = (struct report){.kind = REPORT_ENDED,
                               .wait_status = SIGSYS,
                               .made_forbidden_call = 1,
                               .system_call = call->data.nr};
    return true;
}

static const struct report ordered_end = {
    .kind = REPORT_ENDED, .wait_status = SIGKILL, .ordered = 1};

/* With the interpreter that was woken. */
static bool go_on(struct main_program *program, int supervisor, const struct report *ended)
{
    struct report report = *ended;
    report.kind = REPORT_RESTORED;
    report.scratch_full = program->scratch_is_full && program->scratch_is_full();
    program->pid = program->checkpoints.interpreter;
    supervision_rest(&program->supervision, false); /* also one that was stopped goes on */
    if (program->note_files)
        program->note_files();
    return report_send(supervisor, &report);
}

/* Goes back to before the last cells. ended: how the last one has ended. false: there is no way
 * back, and nothing was done, or no interpreter is left. */
static bool restore(struct main_program *program, int supervisor, size_t cells,
                    const struct report *ended)
{
    return checkpoints_can_restore(&program->checkpoints, cells) &&
           checkpoints_restore(&program->checkpoints, cells) && go_on(program, supervisor, ended);
}

/* The session stays as it is where there is no checkpoint, and ends with one that cannot be woken.
 */
static void undo(struct main_program *program, int supervisor, size_t cells)
{
    const struct report refused = {.kind = REPORT_RESTORED, .failure = RUN_FAILURE_INTERNAL};
    if (!checkpoints_can_restore(&program->checkpoints, cells))
        (void)report_send(supervisor, &refused);
    else
        (void)restore(program, supervisor, cells, &ordered_end);
}

/* The branch that is wanted runs in the place of the one that does. */
static void wake(struct main_program *program, int supervisor, uint32_t branch)
{
    const struct report refused = {.kind = REPORT_RESTORED, .failure = RUN_FAILURE_INTERNAL};
    if (!checkpoints_can_wake(&program->checkpoints, branch))
        (void)report_send(supervisor, &refused);
    else if (checkpoints_wake(&program->checkpoints, branch))
        (void)go_on(program, supervisor, &ordered_end);
}

static void drop(struct main_program *program, uint32_t branch)
{
    checkpoints_drop(&program->checkpoints, branch);
    program->pid = program->checkpoints.interpreter;
}

/* Whether a branch sleeps, once that is settled. */
static void report_parked(struct main_program *program, int supervisor)
{
    enum checkpoint_word word;
    if (!checkpoints_take_answer(&program->checkpoints, &word))
        return;
    struct report report = {.kind = REPORT_PARKED,
                            .failure = checkpoint_word_is_taken(word) ? RUN_FAILURE_NONE
                                                                      : RUN_FAILURE_INTERNAL};
    (void)snprintf(report.message, sizeof(report.message), "%s", checkpoint_word_name(word));
    (void)report_send(supervisor, &report);
}

static pid_t program_of(const struct main_program *program, uint32_t number)
{
    return number == 0 || number > program->other_count ? program->pid
                                                        : program->others[number - 1].pid;
}

/* false: it is none to a session. */
static bool follow_order(struct main_program *program, int supervisor,
                         const struct sandbox_order *order)
{
    pid_t interrupted = program_of(program, order->program);
    switch (order->kind) {
    case SANDBOX_INTERRUPT:
        if (interrupted > 0) /* all branches sleep, else */
            (void)kill(interrupted, SIGINT);
        return true;
    case SANDBOX_STOP:
        whole_tree_signal(SIGSTOP);
        supervision_rest(&program->supervision, true);
        return true;
    case SANDBOX_CONTINUE:
        supervision_rest(&program->supervision, false);
        whole_tree_signal(SIGCONT);
        return true;
    case SANDBOX_CELL:
        checkpoints_begin_cell(&program->checkpoints, order->checkpoints);
        return true;
    case SANDBOX_IDLE:
        checkpoints_end_cell(&program->checkpoints);
        return true;
    case SANDBOX_UNDO:
        undo(program, supervisor, order->cells);
        return true;
    case SANDBOX_PARK:
        checkpoints_begin_park(&program->checkpoints, order->branch);
        return true;
    case SANDBOX_WAKE:
        wake(program, supervisor, order->branch);
        return true;
    case SANDBOX_DROP:
        drop(program, order->branch);
        return true;
    default:
        return false;
    }
}

/* An order to a session. false: what is there is none, and waits for the end. */
static bool take_session_order(struct main_program *program, int supervisor)
{
    struct sandbox_order order;
    ssize_t length = recv(supervisor, &order, sizeof(order), MSG_PEEK | MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR;
    if (length == sizeof(order) && order.kind == SANDBOX_COLLECT_CELL && program->collect_cell) {
        checkpoints_end_cell(&program->checkpoints);
        program->collect_cell(program, supervisor);
        return true;
    }
    if (length == sizeof(order) && order.kind == SANDBOX_PROGRAM && program->add_program) {
        program->add_program(program, supervisor);
        return true;
    }
    /* "All processes" are those of the sandbox. */
    if (length != sizeof(order) || !whole_tree_is_alone() ||
        !follow_order(program, supervisor, &order))
        return false;
    (void)recv(supervisor, &order, sizeof(order), MSG_DONTWAIT);
    return true;
}

/* The socket, the children, and the listeners of all programs. */
enum {
    READY_SUPERVISOR,
    READY_CHILDREN,
    READY_LISTENER,
    READY_COUNT = READY_LISTENER + 1 + OTHER_PROGRAMS_MOST
};

static int listener_of(const struct main_program *program, size_t number)
{
    return number == 0 ? program->listener : program->others[number - 1].listener;
}

/* A call that ends the run, of any program. */
static bool take_forbidden_calls(struct main_program *program, const struct pollfd *ready,
                                 struct report *ret)
{
    for (size_t i = 0; i <= program->other_count; i++)
        if (((ready[READY_LISTENER + i].revents & POLLIN) || (i == 0 && program->early_call)) &&
            take_forbidden_call(program, listener_of(program, i), ret))
            return true;
    return false;
}

/* true and *ret: a program has ended, and there is no way back. */
static bool has_ended(struct main_program *program, int supervisor, const struct pollfd *ready,
                      struct report *ret)
{
    struct report ended;
    struct signalfd_siginfo signals[8];
    if (program->checkpoints.interpreter == 0 &&
        !program->checkpoints.all_sleep) { /* undone, and not restored */
        *ret = ordered_end;
        return true;
    }
    while (read(program->children, signals, sizeof(signals)) > 0)
        ;
    if (!reap_children(program, &ended) && !take_forbidden_calls(program, ready, &ended))
        return false;
    if (program->checkpoints.in_cell && restore(program, supervisor, 1, &ended))
        return false;
    *ret = ended;
    return true;
}

/* Those of programs that were added meanwhile too. At the end of one nobody is left that could make
 * such a call. */
static void watch_listeners(const struct main_program *program, bool is_over[],
                            struct pollfd *ready)
{
    for (size_t i = 0; i <= program->other_count; i++) {
        is_over[i] = is_over[i] || (ready[i].revents & (POLLHUP | POLLERR));
        ready[i].fd = is_over[i] ? -1 : listener_of(program, i);
    }
}

/* A limit was exceeded that the kernel does not hold, and there is no way back. */
static bool has_exceeded(struct main_program *program, int supervisor, struct report *ret)
{
    enum run_cause exceeded = supervision_look(&program->supervision);
    if (exceeded == RUN_CAUSE_EXIT)
        return false;
    *ret = (struct report){
        .kind = REPORT_ENDED, .wait_status = SIGKILL, .exceeded = (uint32_t)exceeded};
    return !program->checkpoints.in_cell || !restore(program, supervisor, 1, ret);
}

static bool watch_end(struct main_program *program, int supervisor, struct report *ret)
{
    struct pollfd ready[READY_COUNT] = {
        [READY_SUPERVISOR] = {.fd = supervisor, .events = POLLIN | POLLRDHUP},
        [READY_CHILDREN] = {.fd = program->children, .events = POLLIN},
    };
    bool is_over[1 + OTHER_PROGRAMS_MOST] = {false};
    for (size_t i = READY_LISTENER; i < READY_COUNT; i++)
        ready[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    program->checkpoints.listener = program->listener;
    program->checkpoints.home = program->home;
    program->checkpoints.interpreter = program->pid;
    for (;;) {
        if (has_ended(program, supervisor, ready, ret) || has_exceeded(program, supervisor, ret))
            return true;
        report_parked(program, supervisor);
        watch_listeners(program, is_over, &ready[READY_LISTENER]);
        int wait_ms = supervision_wait_ms(&program->supervision);
        if (poll(ready, COUNT_OF(ready), wait_ms) < 0 && errno != EINTR) {
            *ret = failed_watch("wait for the program");
            return true;
        }
        if (ready[0].revents & (POLLHUP | POLLERR))
            return false;
        if (ready[0].revents & POLLRDHUP) {
            *ret = ordered_end;
            return true;
        }
        if ((ready[0].revents & POLLIN) && !take_session_order(program, supervisor))
            ready[0].events = POLLRDHUP;
    }
}

bool main_program_watch(struct main_program *program, int supervisor, struct report *ret)
{
    return watch_start(program, supervisor) && watch_end(program, supervisor, ret);
}
