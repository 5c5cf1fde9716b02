/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the first steps of every backend program, and what goes over its control socket: see
 * control.h. */
#include "backends/common/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/common/descriptor_limit.h"
#include "base/cleanup.h"
#include "protocol/run_event.h"

/* ioprio_set(2), which has no header. */
#define IOPRIO_OF_PROCESS   1
#define IOPRIO_CLASS(value) ((value) >> 13)
#define IOPRIO_LEVEL(value) ((value)&7)
#define IOPRIO_NONE         0 /* follows the processor's priority */
#define IOPRIO_REAL_TIME    1
#define IOPRIO_BEST_EFFORT  2
#define IOPRIO_USUAL_LEVEL  4

/* A pidfd of the process that made the control socket, which must be our parent. Between the two
 * calls of getppid() its number cannot have been given to another process. -1 where it has ended.
 */
static int open_host(void)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    pid_t parent = getppid();
    if (getsockopt(BACKEND_CONTROL_FD, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
        peer.pid != parent || parent <= 0)
        return -1;
    CLEANUP_CLOSE int host = (int)syscall(SYS_pidfd_open, parent, 0);
    return host >= 0 && getppid() == parent ? TAKE_FD(host) : -1;
}

/* Leaves the host: it reaps the first process at once and keeps no child. */
static void leave_parent(void)
{
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0);
}

/* Children inherit what the host ignores or blocks: an ignored SIGCHLD loses every exit status.
 * SIGKILL and SIGSTOP refuse, which is fine. */
static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int leave_real_time(void)
{
    static const struct sched_param ordinary = {.sched_priority = 0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE)
        return 0;
    return sched_setscheduler(0, SCHED_OTHER, &ordinary);
}

static int leave_priority(void)
{
    return getpriority(PRIO_PROCESS, 0) < 0 ? setpriority(PRIO_PROCESS, 0, 0) : 0;
}

static int leave_disk_priority(void)
{
    long priority = syscall(SYS_ioprio_get, IOPRIO_OF_PROCESS, 0);
    if (priority < 0)
        return 0; /* a kernel without any */
    bool before_others = IOPRIO_CLASS(priority) == IOPRIO_REAL_TIME ||
                         (IOPRIO_CLASS(priority) == IOPRIO_BEST_EFFORT &&
                          IOPRIO_LEVEL(priority) < IOPRIO_USUAL_LEVEL);
    return before_others ? (int)syscall(SYS_ioprio_set, IOPRIO_OF_PROCESS, 0, IOPRIO_NONE) : 0;
}

/* Raising it needs no privilege. */
static int leave_protection_from_lack_of_memory(void)
{
    char text[16];
    CLEANUP_CLOSE int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (length <= 0 || text[0] != '-')
        return 0;
    CLEANUP_CLOSE int out = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    return out >= 0 && write(out, "0", 1) == 1 ? 0 : -1;
}

/* A host may have privileges in scheduling (systemd.exec(5): CPUSchedulingPolicy=, Nice=,
 * IOSchedulingClass=, OOMScoreAdjust=), which every process that it starts inherits. A program must
 * not have them: it would run before the machine's own processes, and be killed after them where
 * memory is short. To be called before the process becomes undumpable, as it writes to its own
 * /proc. */
static int drop_scheduling_privileges(void)
{
    if (leave_real_time() < 0 || leave_priority() < 0 || leave_disk_priority() < 0)
        return -1;
    return leave_protection_from_lack_of_memory();
}

static int settle_process(void)
{
    if (close_range(BACKEND_CONTROL_FD + 1, ~0U, 0) < 0 ||
        fcntl(BACKEND_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0 || chdir("/") < 0)
        return -1;
    (void)umask(077);
    reset_signals();
    descriptor_limit_raise();
    if (drop_scheduling_privileges() < 0)
        return -1;
    /* Root of a user namespace may be denied it, and is then denied the maps of a sandbox too. */
    if (geteuid() == 0 && setgroups(0, NULL) < 0 && errno != EPERM)
        return -1;
    return prctl(PR_SET_DUMPABLE, 0);
}

int backend_enter(void)
{
    if (settle_process() < 0)
        return -1;
    CLEANUP_CLOSE int host = open_host();
    if (host < 0)
        return -1;
    leave_parent();
    (void)setsid();
    return TAKE_FD(host);
}

int control_greet(int control)
{
    const struct backend_hello hello = {.protocol_version = PROTOCOL_VERSION,
                                        .pid = (int32_t)getpid()};
    return channel_send(control, &hello, sizeof(hello), NULL, 0);
}

/* Without waiting: the plugin gives up soon. */
static void report_pool(int socket, const struct control_handler *handler, void *user)
{
    struct pool_report report;
    unsigned char message[POOL_REPORT_LENGTH];
    handler->count_pool(user, &report);
    pool_report_encode(&report, message);
    (void)send(socket, message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void report_parts(int socket, const struct control_handler *handler, void *user)
{
    static unsigned char message[BACKEND_PARTS_LIMIT]; /* too long for the stack */
    if (handler->list_parts)
        (void)send(socket, message, handler->list_parts(user, message),
                   MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The socket is still good: the datagram is lost, or comes again. */
static bool is_passing(int error_number)
{
    return error_number == EAGAIN || error_number == EINTR || error_number == EMSGSIZE ||
           error_number == ENOMEM || error_number == ENOBUFS;
}

bool control_handle(int control, const struct control_handler *handler, void *user)
{
    char kind = 0;
    int fds[RUN_FD_COUNT];
    size_t count = 0;
    ssize_t length = channel_receive(control, &kind, sizeof(kind), fds, COUNT_OF(fds), &count);
    if (length < 0)
        return is_passing(errno);
    if (length == 1 && kind == CONTROL_RUN && count == RUN_FD_COUNT) {
        handler->start_run(user, fds);
        return true;
    }
    if (length == 1 && kind == CONTROL_POOL && count == 1)
        report_pool(fds[0], handler, user);
    if (length == 1 && kind == CONTROL_PARTS && count == 1)
        report_parts(fds[0], handler, user);
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
    return length > 0;
}
