/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the tracing of a backend: see injector.h. */
#include "injector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../process/backend/harness.h"
#include "base/cleanup.h"
#include "process_facts.h"
#include "protocol/run_description.h"

/* <sys/ptrace.h> and <linux/ptrace.h> define the same names; the call itself is enough. */
static long trace(long request, pid_t pid, uintptr_t address, uintptr_t data)
{
    return syscall(SYS_ptrace, request, pid, address, data);
}

#define OPTIONS                                                                               \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define TRACEES_LIMIT 64

static struct tracee {
    pid_t pid;
    enum role role;
    int error; /* for the call that it is in */
} tracees[TRACEES_LIMIT];

static bool is_unprivileged; /* of the runs: without namespaces */

static struct {
    struct fault fault;
    pid_t supervisor; /* 0: not known yet */
    pid_t init;
    pid_t guardian;
    pid_t held;    /* the program, until the guardian has made its calls; 0: nobody */
    bool executed; /* what came before the backend's own execve is the test */
    bool payload_known;
    unsigned int calls; /* of the fault's role */
    bool hit;
    long call;
    struct seen seen;
} now;

const char *role_name(enum role role)
{
    static const char *const names[] = {"start",    "supervisor", "init",
                                        "guardian", "payload",    "other"};
    return names[role];
}

void injector_expect(uint32_t isolation)
{
    is_unprivileged = isolation == RUN_ISOLATION_UNPRIVILEGED;
}

static struct tracee *find(pid_t pid)
{
    for (size_t i = 0; i < TRACEES_LIMIT; i++)
        if (tracees[i].pid == pid)
            return &tracees[i];
    return NULL;
}

/* The flags of the clone that it has just come from: it has its parent's registers. */
static bool was_cloned_with(pid_t pid, unsigned long flag)
{
    long flags = 0;
    return trace(PTRACE_PEEKUSR, pid, offsetof(struct user, regs.rdi), (uintptr_t)&flags) == 0 &&
           ((unsigned long)flags & flag) != 0;
}

/* The init is the first of a namespace; the maker of the filters is not. Without namespaces it is
 * held by a descriptor, as is whoever removes a run's directory, and has children. */
static bool is_first_inside(pid_t pid)
{
    char status[8192];
    int inside = 0;
    if (is_unprivileged)
        return was_cloned_with(pid, CLONE_PIDFD);
    (void)read_text(pid, "status", status, sizeof(status));
    const char *pids = strstr(status, "\nNSpid:");
    return pids && sscanf(pids, "\nNSpid: %*d %d", &inside) == 1 && inside == 1;
}

static void note_init(pid_t parent)
{
    const struct tracee *tracee = find(parent);
    if (is_unprivileged && tracee && tracee->role == ROLE_INIT)
        now.init = parent;
}

static enum role role_of(pid_t pid)
{
    if (now.supervisor == 0 || pid == now.supervisor)
        return now.supervisor ? ROLE_SUPERVISOR : ROLE_START;
    pid_t parent = parent_of(pid);
    if (parent == now.supervisor && now.init == 0 && is_first_inside(pid)) {
        now.init = is_unprivileged ? 0 : pid;
        return ROLE_INIT;
    }
    note_init(parent);
    if (parent != now.init || !parent || now.payload_known)
        return ROLE_OTHER;
    if (is_unprivileged && (now.guardian == 0 || now.guardian == pid)) {
        now.guardian = pid;
        return ROLE_GUARDIAN;
    }
    now.payload_known = true;
    return ROLE_PAYLOAD;
}

/* Its first child may stop for the first time behind the second one. */
static void note_guardian(pid_t init)
{
    unsigned long child = 0;
    note_init(init);
    if (is_unprivileged && init == now.init && now.guardian == 0 &&
        trace(PTRACE_GETEVENTMSG, init, 0, (uintptr_t)&child) == 0)
        now.guardian = (pid_t)child;
}

static struct tracee *add(pid_t pid)
{
    struct tracee *tracee = find(0);
    if (!tracee)
        abort();
    *tracee = (struct tracee){.pid = pid, .role = role_of(pid)};
    return tracee;
}

void injector_adopt(pid_t pid)
{
    now.supervisor = 0;
    if (trace(PTRACE_SEIZE, pid, 0, OPTIONS) < 0)
        abort();
    (void)add(pid);
}

void injector_begin(const struct fault *fault, pid_t supervisor)
{
    memset(&now, 0, sizeof(now));
    now.fault = *fault;
    now.supervisor = supervisor;
    for (size_t i = 0; i < TRACEES_LIMIT && supervisor; i++)
        tracees[i].role = tracees[i].pid == supervisor ? ROLE_SUPERVISOR : ROLE_OTHER;
    if (fault->role == ROLE_SUPERVISOR && fault->index)
        (void)trace(PTRACE_INTERRUPT, supervisor, 0, 0);
}

bool injector_hit(long *ret_call)
{
    *ret_call = now.call;
    return now.hit;
}

const struct seen *injector_seen(void)
{
    return &now.seen;
}

static void miss(const char *what)
{
    size_t used = strlen(now.seen.faults);
    (void)snprintf(now.seen.faults + used, sizeof(now.seen.faults) - used, "%s; ", what);
}

/* A line of /proc/PID/status. */
static void expect_status(const char *status, const char *line)
{
    const char *at = strstr(status, line);
    size_t length = strlen(line);
    if (!at || (at[length] != '\n' && at[length] != '\0'))
        miss(line + 1);
}

static void judge_status(pid_t pid)
{
    static const char *const lines[] = {
        "\nNoNewPrivs:\t1",
        "\nSeccomp:\t2",
        "\nSeccomp_filters:\t2",
        "\nCapInh:\t0000000000000000",
        "\nCapPrm:\t0000000000000000",
        "\nCapEff:\t0000000000000000",
        "\nCapAmb:\t0000000000000000",
    };
    char status[8192];
    int inside = 0;
    unsigned int uid = 0;
    (void)read_text(pid, "status", status, sizeof(status));
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        expect_status(status, lines[i]);
    /* Where it may not be emptied, it is not, and with no_new_privs nothing is taken from it. */
    if (is_unprivileged)
        return;
    expect_status(status, "\nCapBnd:\t0000000000000000");
    const char *pids = strstr(status, "\nNSpid:");
    if (!pids || sscanf(pids, "\nNSpid: %*d %d", &inside) != 1 || inside != 2)
        miss("pid 2 of its namespace");
    const char *uids = strstr(status, "\nUid:");
    if (!uids || sscanf(uids, "\nUid: %u", &uid) != 1 || (geteuid() == 0 && uid == 0))
        miss("a user of its own outside");
}

static void judge_namespaces(pid_t pid)
{
    static const char *const names[] = {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[64];
        struct stat its;
        struct stat ours;
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, names[i]);
        int found = stat(path, &its);
        (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
        if (found < 0 || stat(path, &ours) < 0 || its.st_ino == ours.st_ino)
            miss(path);
    }
}

static void judge_root(pid_t pid)
{
    char path[64];
    char mounts[65536];
    struct stat its;
    struct stat ours;
    (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    if (stat(path, &its) < 0 || stat("/", &ours) < 0 ||
        (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino))
        miss("a root of its own");
    (void)read_text(pid, "mountinfo", mounts, sizeof(mounts));
    if (!strstr(mounts, " / / ro,"))
        miss("a read-only root");
    if (!strstr(mounts, " /home/sandbox rw,") || !strstr(mounts, " /tmp rw,"))
        miss("scratch");
    now.seen.proc = strstr(mounts, " /proc ro,") != NULL;
}

#define NO_LIMIT (UINT64_C(1) << 60) /* version 1 has a number for it, as large as numbers get */

/* Does that line of /proc/PID/cgroup name a group of the controller in which there is a limit? */
static bool is_limited(const char *line, const char *controller, const char *version1,
                       const char *version2)
{
    const char *first = strchr(line, ':');
    const char *path = first ? strchr(first + 1, ':') : NULL;
    bool is_version2 = strncmp(line, "0::", 3) == 0;
    char name[PATH_MAX];
    uint64_t limit = NO_LIMIT;
    if (!path || (!is_version2 && !strstr(line, controller)))
        return false;
    (void)snprintf(name, sizeof(name), "/sys/fs/cgroup/%s%s/%s", is_version2 ? "" : controller,
                   path + 1, is_version2 ? version2 : version1);
    FILE *file = fopen(name, "re");
    bool found = file && fscanf(file, "%" SCNu64, &limit) == 1 && limit < NO_LIMIT;
    if (file)
        (void)fclose(file);
    return found;
}

static void judge_rest(pid_t pid)
{
    char text[8192];
    char path[64];
    (void)read_text(pid, "limits", text, sizeof(text));
    const char *core = strstr(text, "Max core file size");
    const char *files = strstr(text, "Max open files");
    unsigned long soft = 0;
    if (!core || sscanf(core, "Max core file size %lu", &soft) != 1 || soft != 1)
        miss("no core files");
    if (!files || sscanf(files, "Max open files %lu", &soft) != 1 || soft != 256)
        miss("the limit of open files");
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    int count = 0;
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        count += entry->d_name[0] != '.';
    if (directory)
        (void)closedir(directory);
    if (count > 3)
        miss("no more descriptors than three");
    (void)read_text(pid, "cgroup", text, sizeof(text));
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *supervisors = strstr(line, "/code-execute-");
        if (!supervisors || !strchr(&supervisors[1], '/'))
            continue;
        now.seen.memory_group |= is_limited(line, "memory", "memory.limit_in_bytes", "memory.max");
        now.seen.process_group |= is_limited(line, "pids", "pids.max", "pids.max");
    }
}

/* What stands in for the kernel, which would end the tree of a pid namespace with its init. Of an
 * init that was killed it is at work, or has done it. */
static void judge_guardian(void)
{
    bool is_there = process_is_alive(now.guardian) && parent_of(now.guardian) == now.init;
    if (process_is_alive(now.init) && !is_there)
        miss("a guardian");
}

static void judge_directory(pid_t pid)
{
    char path[64];
    char directory[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    ssize_t length = readlink(path, directory, sizeof(directory) - 1);
    directory[length < 0 ? 0 : length] = '\0';
    const char *name = strrchr(directory, '/');
    if (!name || strcmp(name, "/" RUN_HOME_NAME) != 0 || !strstr(directory, "/code-execute-"))
        miss("a directory of its own");
}

/* Still where its execve has left it: only SIGKILL can have taken it from there. */
static bool stands_traced(pid_t pid)
{
    return state_of(pid) == 't';
}

static void judge(pid_t pid)
{
    now.seen.ran = true;
    now.seen.pid = pid;
    judge_status(pid);
    judge_rest(pid);
    if (is_unprivileged) {
        judge_guardian();
        judge_directory(pid);
    } else {
        judge_namespaces(pid);
        judge_root(pid);
    }
    /* One that is killed meanwhile gives up what is looked at, and has not run an instruction. */
    if (!stands_traced(pid))
        now.seen = (struct seen){0};
}

/* What has no error to give, or gives another by its own rules. */
static bool can_fail(long call)
{
    static const long never[] = {
        SYS_exit,   SYS_exit_group, SYS_rt_sigreturn,    SYS_restart_syscall,
        SYS_brk,    SYS_getpid,     SYS_getppid,         SYS_gettid,
        SYS_getuid, SYS_geteuid,    SYS_getgid,          SYS_getegid,
        SYS_umask,  SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list,
        SYS_rseq,   SYS_munmap,     SYS_rt_sigaction,
    };
    for (size_t i = 0; i < COUNT_OF(never); i++)
        if (never[i] == call)
            return false;
    return call >= 0;
}

static int fitting_error(long call)
{
    switch (call) {
    case SYS_epoll_wait:
    case SYS_wait4:
        return EINTR;
    case SYS_kill:
    case SYS_pidfd_send_signal:
        return EPERM;
    case SYS_read:
    case SYS_pread64:
    case SYS_write:
    case SYS_close:
        return EIO;
    default:
        return ENOMEM;
    }
}

static void enter_call(struct tracee *tracee, long call)
{
    if (tracee->role != now.fault.role || (tracee->role == ROLE_START && !now.executed) ||
        !can_fail(call) || (now.fault.only && call != now.fault.only) ||
        ++now.calls != now.fault.index)
        return;
    now.hit = true;
    now.call = call;
    if (now.fault.kill) {
        (void)kill(tracee->pid, SIGKILL);
        return;
    }
    int fits = fitting_error(call);
    tracee->error = now.fault.error && fits != EINTR ? now.fault.error : fits;
    /* A descriptor is closed even where close(2) fails. */
    if (call != SYS_close)
        (void)trace(PTRACE_POKEUSR, tracee->pid, offsetof(struct user, regs.orig_rax),
                    (uintptr_t)-1);
}

static void handle_call(struct tracee *tracee)
{
    struct ptrace_syscall_info info;
    if (trace(PTRACE_GET_SYSCALL_INFO, tracee->pid, sizeof(info), (uintptr_t)&info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        enter_call(tracee, (long)info.entry.nr);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && tracee->error) {
        (void)trace(PTRACE_POKEUSR, tracee->pid, offsetof(struct user, regs.rax),
                    (uintptr_t) - (long)tracee->error);
        tracee->error = 0;
    }
}

/* Only calls that may be the one are stopped at: a stop costs two changes of process. */
static bool stops_at_calls(const struct tracee *tracee)
{
    return tracee->error || (now.fault.index && !now.hit && tracee->role == now.fault.role);
}

/* Else a program could have ended, and the guardian with it, before it has made its first call. */
static bool is_guardian_busy(void)
{
    char state = state_of(now.guardian); /* it waits for the init otherwise */
    return state == 'R' || state == 'D' || state == 't';
}

static void release_program(void)
{
    struct tracee *tracee = now.held ? find(now.held) : NULL;
    if (!tracee ||
        (now.fault.role == ROLE_GUARDIAN && now.fault.index && !now.hit && is_guardian_busy()))
        return;
    (void)trace(PTRACE_DETACH, tracee->pid, 0, 0);
    tracee->pid = 0;
    now.held = 0;
}

static void handle_stop(struct tracee *tracee, int status)
{
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    if (event == PTRACE_EVENT_EXEC && tracee->role == ROLE_PAYLOAD) {
        judge(tracee->pid);
        now.held = tracee->pid;
        release_program();
        return;
    }
    now.executed |= event == PTRACE_EVENT_EXEC;
    if (event == PTRACE_EVENT_FORK)
        note_guardian(tracee->pid);
    if (signal == (SIGTRAP | 0x80))
        handle_call(tracee);
    bool ours = event || signal == (SIGTRAP | 0x80);
    (void)trace(stops_at_calls(tracee) ? PTRACE_SYSCALL : PTRACE_CONT, tracee->pid, 0,
                ours ? 0 : (uintptr_t)signal);
}

bool injector_serve(void)
{
    int status;
    release_program();
    pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);
    if (pid <= 0)
        return false;
    struct tracee *tracee = find(pid);
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        if (tracee)
            tracee->pid = 0;
        return true;
    }
    handle_stop(tracee ? tracee : add(pid), status);
    return true;
}
