/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the start of a session's further interpreters: see session_program.h. */
#include "backends/process/sandbox/session_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/common/run_input.h"
#include "backends/process/program/notification.h"
#include "backends/process/program/whole_tree.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/write_fully.h"
#include "protocol/channel.h"

#define START_LIMIT_MS 10000
#define PACKED_LIMIT   (UINT32_C(32) << 20)
#define NAME_SIZE      64
#define GIVEN_FDS      (SESSION_PROGRAM_FDS + 1)

/* In front of each file. */
struct packed_file {
    uint64_t length;
    uint32_t executable;
    char name[NAME_SIZE];
};

static const struct sandbox *session_sandbox;

static bool pack(int memory, const struct interpreter_file *file)
{
    if (!file)
        return false;
    for (; file->name; file++) {
        struct packed_file head = {.length = file->length, .executable = file->executable};
        (void)snprintf(head.name, sizeof(head.name), "%s", file->name);
        if (!write_fully(memory, &head, sizeof(head)) ||
            !write_fully(memory, file->content, file->length))
            return false;
    }
    return true;
}

int session_program_files(uint32_t runner, bool tool_command)
{
    CLEANUP_CLOSE int memory = memfd_create("interpreter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0 || !pack(memory, interpreter_files(runner)) ||
        (tool_command && !pack(memory, interpreter_tool_command())) ||
        fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -1;
    return TAKE_FD(memory);
}

void session_program_init(const struct sandbox *sandbox)
{
    session_sandbox = sandbox;
}

/* Nothing that stands there is opened: what is written is new, and the directory its own. */
static bool write_file(int directory, const struct packed_file *head, const unsigned char *content)
{
    CLEANUP_CLOSE int fd =
        openat(directory, head->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
               head->executable ? 0555 : 0444);
    return fd >= 0 && write_fully(fd, content, head->length);
}

static bool unpack(int directory, const unsigned char *bytes, size_t length)
{
    struct packed_file head;
    for (size_t at = 0; at < length; at += head.length) {
        if (length - at < sizeof(head))
            return false;
        memcpy(&head, &bytes[at], sizeof(head));
        at += sizeof(head);
        if (head.length > length - at || !memchr(head.name, '\0', NAME_SIZE) ||
            !write_file(directory, &head, &bytes[at]))
            return false;
    }
    return true;
}

/* The directory, or NULL with errno. */
static const char *write_own_files(int packed)
{
    static char path[] = "/tmp/.code-execute-XXXXXX";
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = run_read_file(packed, PACKED_LIMIT, &length);
    if (!bytes || !mkdtemp(path))
        return NULL;
    CLEANUP_CLOSE int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 || !unpack(directory, bytes, length) || fchmod(directory, 0555) < 0)
        return NULL;
    return path;
}

/* 0-2 are free in the init, and are the program's. */
static int above_streams(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close_fd(fd);
    return moved;
}

static void fill_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close_fd(fd);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            _exit(1);
}

/* In the child. Its run waits on the socket run. It has no interpreter that was there before. */
static _Noreturn void become(uint32_t runner, int report, int run, int packed)
{
    sigset_t none;
    struct sandbox_template template =
        sandbox_template_without_interpreter(session_sandbox->template);
    struct sandbox sandbox = *session_sandbox;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    sandbox.report = above_streams(report);
    sandbox.supervisor = above_streams(run);
    int files = above_streams(packed);
    if (sandbox.report < 0 || sandbox.supervisor < 0 || files < 0)
        _exit(1);
    fill_streams();
    template.runner = runner;
    sandbox.template = &template;
    sandbox.inputs = sandbox.listener = -1;
    if (!sandbox.directory) /* else all of them are where its own files are */
        sandbox.files = write_own_files(files);
    if (!sandbox.files)
        main_program_fail(sandbox.report, RUN_FAILURE_INTERNAL, errno,
                          "write the interpreter's files");
    payload_run(&sandbox);
    _exit(1);
}

static void fail(struct report *ret, int error, const char *message)
{
    *ret = (struct report){.failure = RUN_FAILURE_INTERNAL, .error_number = error};
    (void)snprintf(ret->message, sizeof(ret->message), "%s", message);
}

/* A call that it makes before it is ready. */
static void take_early_call(int listener, int home)
{
    CLEANUP_FREE struct seccomp_notif *call = notification_receive(listener);
    if (call && !attribute_call_answer(listener, call, home))
        (void)kill((pid_t)call->pid, SIGKILL);
}

/* Until the deadline, or the next look at what the session's processes have. */
static int wait_ms(const struct main_program *program, uint64_t deadline_ms)
{
    int until_end = deadline_poll_timeout(deadline_ms);
    int until_look = supervision_wait_ms(&program->supervision);
    return until_look >= 0 && until_look < until_end ? until_look : until_end;
}

/* Until its execve, which closes the other end. true: it has started, and *ret_listener is the
 * caller's. */
static bool watch_start(struct main_program *program, int reports, int *ret_listener,
                        struct report *ret)
{
    uint64_t deadline_ms = monotonic_ms() + START_LIMIT_MS;
    struct pollfd ready[] = {{.fd = reports, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    CLEANUP_CLOSE int listener = -1;
    struct report report;
    bool is_ready = false;
    fail(ret, 0, "the interpreter was killed as it started");
    for (;;) {
        ready[1].fd = program->home < 0 ? -1 : listener;
        int count = poll(ready, COUNT_OF(ready), wait_ms(program, deadline_ms));
        if (count < 0 && errno == EINTR)
            continue;
        if (supervision_look(&program->supervision) != RUN_CAUSE_EXIT) {
            fail(ret, 0, "the session has exceeded a limit"); /* which ends it next */
            return false;
        }
        if (count == 0 && deadline_poll_timeout(deadline_ms) > 0)
            continue;
        if (count <= 0) {
            fail(ret, ETIMEDOUT, "the start of the interpreter took too long");
            return false;
        }
        if (ready[1].revents & POLLIN)
            take_early_call(listener, program->home);
        if (ready[0].revents == 0 && !(ready[1].revents & POLLHUP))
            continue;
        if (report_receive_with(reports, &report, &listener) != REPORT_WHOLE)
            break;
        if (report.kind == REPORT_FAILED) {
            *ret = report;
            return false;
        }
        is_ready = is_ready || report.kind == REPORT_READY;
    }
    if (!is_ready || listener < 0)
        return false;
    *ret = (struct report){.failure = RUN_FAILURE_NONE};
    *ret_listener = TAKE_FD(listener);
    return true;
}

static bool make_pair(int ret[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) == 0;
}

/* The run comes to the child as the first one's did to its payload. */
static bool give_run(int socket, const struct sandbox_order *order, const int *fds)
{
    const struct isolation_report isolation = {
        .outer_uid = session_sandbox->isolation.outer_uid,
        .cgroup_version = session_sandbox->isolation.cgroup_version,
        .cgroup_has_memory = order->cgroup_has_memory,
        .cgroup_has_pids = order->cgroup_has_pids,
    };
    return channel_send(socket, &isolation, sizeof(isolation), fds, SESSION_PROGRAM_FDS) == 0;
}

static void start(struct main_program *program, const struct sandbox_order *order, const int *fds,
                  struct report *ret)
{
    int pair[2];
    struct other_program *other = &program->others[program->other_count];
    fail(ret, EMFILE, "the session has no room for another interpreter");
    if (program->other_count == OTHER_PROGRAMS_MOST)
        return;
    fail(ret, EIO, "start another interpreter");
    if (!make_pair(pair))
        return;
    CLEANUP_CLOSE int reports = pair[0];
    CLEANUP_CLOSE int child_reports = pair[1];
    if (!make_pair(pair))
        return;
    CLEANUP_CLOSE int run = pair[0];
    CLEANUP_CLOSE int child_run = pair[1];
    if (!give_run(run, order, fds))
        return;
    pid_t pid = fork();
    if (pid == 0)
        become(order->runner, child_reports, child_run, fds[SESSION_PROGRAM_FDS]);
    close_fd(TAKE_FD(child_reports));
    close_fd(TAKE_FD(child_run));
    if (pid < 0) {
        fail(ret, errno, "fork");
        return;
    }
    program->supervision.beginning = pid;
    bool has_begun = watch_start(program, reports, &other->listener, ret);
    program->supervision.beginning = 0;
    if (has_begun) {
        other->pid = pid;
        program->other_count++;
        checkpoints_forget(&program->checkpoints);
        return;
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void session_program_add(struct main_program *program, int supervisor)
{
    struct sandbox_order order;
    struct report report;
    int fds[GIVEN_FDS];
    size_t count = 0;
    ssize_t received =
        channel_receive(supervisor, &order, sizeof(order), fds, COUNT_OF(fds), &count);
    if (received == sizeof(order) && count == COUNT_OF(fds) && whole_tree_is_alone())
        start(program, &order, fds, &report);
    else
        fail(&report, EBADMSG, "read the order");
    for (size_t i = 0; received >= 0 && i < count; i++)
        close_fd(fds[i]);
    report.kind = REPORT_PROGRAM;
    (void)report_send(supervisor, &report);
}
