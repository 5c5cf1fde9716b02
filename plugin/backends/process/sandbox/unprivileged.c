/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the steps of a sandbox without namespaces: two Landlock domains, each tried at once with
 * what it is to stop, and what else keeps its tree apart from the machine that it shares. Each step
 * says below whether the init or the payload takes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/program/program.h"
#include "backends/process/program/supervision.h"
#include "backends/process/program/whole_tree.h"
#include "backends/process/sandbox/interpreter_command.h"
#include "backends/process/sandbox/own_directory.h"
#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "guest/layers/landlock.h"

/* sched_setattr(2). The kernel's header cannot be used beside the C library's. */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

#define RESET_ON_FORK UINT64_C(1)
#define SHORT_TURN_NS 100000 /* the least that there is */

/* The init. What the kernel does not count here is counted by the init, in /proc. */
int check_supervision(struct sandbox *sandbox)
{
    (void)sandbox;
    return supervision_is_possible() ? 0 : -1;
}

/* The init, as long as it is as its original was. */
int note_inheritance(struct sandbox *sandbox)
{
    if (!sandbox->template->interpreter.fork)
        return STEP_NOT_FOR_THIS_RUN;
    return process_memory_inherited(&sandbox->inheritance) ? 0 : -1;
}

/* The init: all orphans of the tree are its children. */
int become_subreaper(struct sandbox *sandbox)
{
    (void)sandbox;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* The init. On a busy machine it is to have its turn before the program's processes: who asks for a
 * short time gets it sooner (since Linux 6.12). Its children
 * are as any others. */
int become_prompt(struct sandbox *sandbox)
{
    const struct scheduling scheduling = {
        .size = sizeof(scheduling),
        .policy = SCHED_OTHER,
        .flags = RESET_ON_FORK,
        .nice = getpriority(PRIO_PROCESS, 0),
        .runtime_ns = SHORT_TURN_NS,
    };
    (void)sandbox;
    return (int)syscall(SYS_sched_setattr, 0, &scheduling, 0);
}

/* The init. The bounding set stays what it is where it may not be emptied: with no_new_privs
 * nothing is ever taken from it. */
int clear_capabilities(struct sandbox *sandbox)
{
    for (unsigned long capability = 0; capability <= CAP_LAST_CAP; capability++)
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -1;
    return clear_capability_sets(sandbox);
}

/* Can this process signal that one? */
static bool reaches(pid_t pid)
{
    return kill(pid, 0) == 0;
}

/* Enters a domain, which is to keep the caller's signals from its parent. Before, they reach it: so
 * it is the domain that stops them, and no difference of users. */
static int enter_domain(struct sandbox *sandbox, int (*enter)(const struct sandbox *sandbox))
{
    pid_t outside = getppid();
    if (!reaches(outside))
        return -1;
    int abi = enter(sandbox);
    if (abi < 0)
        return -1;
    if (reaches(outside) || errno != EPERM) {
        errno = ENOTSUP;
        return -1;
    }
    sandbox->isolation.landlock_abi = (uint32_t)abi;
    return 0;
}

static int enter_scope(const struct sandbox *sandbox)
{
    (void)sandbox;
    return landlock_restrict_scope();
}

/* The init. The parent is the supervisor. */
int enter_outer_domain(struct sandbox *sandbox)
{
    if (enter_domain(sandbox, enter_scope) < 0)
        return -1;
    whole_tree_note_domain();
    return 0;
}

/* In the outer domain as well, it does one thing, once: what the kernel does for a pid namespace. A
 * call that fails here is no reason to do it. */
static _Noreturn void guard(int init, int lock)
{
    const int kept[] = {init, lock};
    struct pollfd end = {.fd = init, .events = POLLIN};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fd != init && fd != lock)
            close_fd(fd);
    (void)program_close_other_descriptors(kept, COUNT_OF(kept));
    /* Stopped with the tree, just as the init ends, it goes on. */
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    while (poll(&end, 1, -1) < 0)
        ;
    whole_tree_kill();
    _exit(0);
}

/* The init. Should it be killed, by hand or for memory, the tree must not live on. As long as one
 * of the two lives, no other gateway takes the run's directory for a dead one's; the lock is closed
 * in the payload before its program begins. */
int start_guardian(struct sandbox *sandbox)
{
    int lock;
    CLEANUP_CLOSE int own = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (own < 0 || own_directory_hold(sandbox->directory, &lock) < 0)
        return -1;
    sandbox->guardian = fork();
    if (sandbox->guardian == 0)
        guard(own, lock);
    whole_tree_note_guardian(sandbox->guardian);
    return sandbox->guardian < 0 ? -1 : 0;
}

/* The payload. Where the machine, or the container around the gateway, runs out of memory, the
 * program ends rather than its init or the gateway. */
int become_first_victim(struct sandbox *sandbox)
{
    (void)sandbox;
    /* Else the file is root's. The execve that follows does the same. */
    if (prctl(PR_SET_DUMPABLE, 1) < 0)
        return -1;
    CLEANUP_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "1000", 4) == 4 ? 0 : -1;
}

/* The payload. The main program of a shell's session takes the place of a parent that its shells
 * have lost (interpreter/shell/), which no filtered program can say of itself. Its own orphans are
 * the init's. */
int adopt_for_shell(struct sandbox *sandbox)
{
    if (sandbox->template->runner != RUN_RUNNER_SHELL)
        return 0;
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Single files that a program may read, whatever the policy says, and no more than that. */
static const struct landlock_rule always_read[] = {
    /* A shared mapping of it, which wants it open for writing, is memory that no process's count
     * shows once it is unmapped. Without that a mapping is the process's own. */
    {"/dev/zero", LANDLOCK_READ_FILE},
    /* Node and npm do without them where they are not there, and end where they may not be read. */
    {"/etc/ssl/openssl.cnf", LANDLOCK_READ_FILE},
    {"/etc/ssl/certs/ca-certificates.crt", LANDLOCK_READ_FILE},
    /* Debian's and Ubuntu's Python, whose /usr/lib/python3.N/sitecustomize.py leads there: it
     * complains at each start, unless it was compiled before. */
    {"/etc/python3.11/sitecustomize.py", LANDLOCK_READ_FILE},
    {"/etc/python3.12/sitecustomize.py", LANDLOCK_READ_FILE},
    {"/etc/python3.13/sitecustomize.py", LANDLOCK_READ_FILE},
    {"/etc/python3.14/sitecustomize.py", LANDLOCK_READ_FILE},
};

/* Of the payload, and nobody else's: what a trial of modules looks for is there. It has no run. */
#define OWN_PROC "/proc/self"

/* What the program may read, and its places. Not the directory that these are in: another one under
 * their names would be the init's to collect files from. */
static int enter_files(const struct sandbox *sandbox)
{
    char **paths = sandbox->template->read_only_paths;
    size_t count = string_list_count(paths);
    CLEANUP_FREE struct landlock_rule *rules =
        calloc(count + COUNT_OF(always_read) + 4, sizeof(*rules));
    if (!rules)
        return -1;
    for (size_t i = 0; i < count; i++)
        rules[i] = (struct landlock_rule){paths[i], LANDLOCK_READ};
    rules[count++] = (struct landlock_rule){sandbox->places.home, LANDLOCK_SCRATCH};
    rules[count++] = (struct landlock_rule){sandbox->places.temporary, LANDLOCK_SCRATCH};
    for (size_t i = 0; i < COUNT_OF(always_read); i++)
        rules[count++] = always_read[i];
    if (sandbox->template->interpreter.is_trial)
        rules[count++] = (struct landlock_rule){OWN_PROC, LANDLOCK_READ};
    if (sandbox->files)
        rules[count++] = (struct landlock_rule){sandbox->files, LANDLOCK_READ};
    return landlock_restrict_to(rules, count);
}

/* Is the machine's root, which no rule names, closed? */
static bool root_is_closed(void)
{
    CLEANUP_CLOSE int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 && errno == EACCES)
        return true;
    errno = ENOTSUP;
    return false;
}

/* The payload. The parent is the init. */
int enter_inner_domain(struct sandbox *sandbox)
{
    if (enter_domain(sandbox, enter_files) < 0)
        return -1;
    return root_is_closed() ? 0 : -1;
}
