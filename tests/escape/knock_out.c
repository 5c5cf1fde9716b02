/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the taking away of single layers from the backend of process mode, for the escape suite
 * alone. Linked with the product's own objects and -Wl,--wrap (meson.build), it changes what they
 * ask for; none of their code differs. What is taken away is said by the file "knock-out" beside
 * the executable, a kind and a name a line (process_knockouts.py has what there is).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/program/supervision.h"
#include "backends/process/sandbox/directories.h"
#include "backends/process/sandbox/sandbox.h"
#include "backends/process/sandbox/steps/mount_fd.h"
#include "backends/process/supervisor/cgroup/cgroup.h"
#include "backends/process/supervisor/filter/seccomp_filter.h"
#include "backends/process/supervisor/launch/launch.h"
#include "base/cleanup.h"

#define KNOCK_OUTS_LIMIT 32
#define STEPS_LIMIT      48
#define LEAKED_FD        9
#define DYING_PROCESSES  3 /* a program that has so many loses its init */
#define VIEW_BYTES \
    (UINT64_C(2) << 20) /* as in view.c: every other memory file system is the scratch */

static struct {
    char kind[32];
    char name[PATH_MAX];
} knock_outs[KNOCK_OUTS_LIMIT];
static size_t knock_out_count;

/* The name of the kind's i-th knock-out, or NULL. */
static const char *nth(const char *kind, size_t wanted)
{
    for (size_t i = 0; i < knock_out_count; i++)
        if (strcmp(knock_outs[i].kind, kind) == 0 && wanted-- == 0)
            return knock_outs[i].name;
    return NULL;
}

static bool is_out(const char *kind, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = nth(kind, i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

/* Without these two namespaces the steps would change the machine itself if a refusal failed: the
 * product's has to stand alone against them. */
static bool is_dangerous(void)
{
    return knock_out_count > 1 && (is_out("namespace", "user") || is_out("namespace", "mount"));
}

/* Before main() closes what it does not know and /proc is gone. */
__attribute__((constructor)) static void read_knock_outs(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof("knock-out"));
    if (length <= 0)
        _exit(1);
    path[length] = '\0';
    (void)strcpy(strrchr(path, '/') + 1, "knock-out");
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    char line[PATH_MAX + 64];
    while (fgets(line, sizeof(line), file)) {
        if (knock_out_count == KNOCK_OUTS_LIMIT ||
            sscanf(line, "%31s %4095[^\n]", knock_outs[knock_out_count].kind,
                   knock_outs[knock_out_count].name) != 2)
            _exit(1);
        knock_out_count++;
    }
    (void)fclose(file);
    if (is_dangerous())
        _exit(1);
}

/* --- The steps --- */

static int succeed(struct sandbox *sandbox)
{
    (void)sandbox;
    return 0;
}

/* A path of the machine as it is, writable, in the view. */
static int bind_paths(struct sandbox *sandbox)
{
    const char *path;
    for (size_t i = 0; (path = nth("bind", i)); i++) {
        struct stat status;
        CLEANUP_CLOSE int source = mount_fd_clone(AT_FDCWD, path);
        if (source < 0 || fstat(source, &status) < 0 ||
            (S_ISDIR(status.st_mode) ? make_directories(sandbox->view, path + 1)
                                     : make_empty_file(sandbox->view, path + 1)) < 0 ||
            mount_fd_attach(source, sandbox->view, path + 1) < 0)
            return -1;
    }
    return 0;
}

static int show_proc_of_host(struct sandbox *sandbox)
{
    if (make_directories(sandbox->view, "proc") < 0)
        return -1;
    CLEANUP_CLOSE int proc = mount_fd_clone(AT_FDCWD, "/proc");
    return proc < 0 ? -1 : mount_fd_attach(proc, sandbox->view, "proc");
}

/* What was open before the change of root. */
static int leak_directory(struct sandbox *sandbox)
{
    (void)sandbox;
    CLEANUP_CLOSE int directory = open(nth("leak", 0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return directory < 0 || dup2(directory, LEAKED_FD) < 0 ? -1 : 0;
}

static int become_readable(struct sandbox *sandbox)
{
    (void)sandbox;
    return prctl(PR_SET_DUMPABLE, 1);
}

/* All that the user namespace gives, over the execve. */
static int keep_capabilities(struct sandbox *sandbox)
{
    (void)sandbox;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i].inheritable = data[i].permitted;
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    for (unsigned int i = 0; i < 32 * _LINUX_CAPABILITY_U32S_3; i++)
        if (data[i / 32].permitted & CAP_TO_MASK(i) &&
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) < 0)
            return -1;
    return 0;
}

/* As a plain bind mount, with the machine's own inodes. */
static int bind_workspace(struct sandbox *sandbox)
{
    const char *workspace = sandbox->template->workspace;
    if (workspace[0] == '\0')
        return 0;
    CLEANUP_CLOSE int source = mount_fd_clone(AT_FDCWD, workspace);
    if (source < 0 ||
        mount_fd_restrict(source, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) < 0 ||
        make_directories(sandbox->view, &RUN_WORKSPACE[1]) < 0)
        return -1;
    return mount_fd_attach(source, sandbox->view, &RUN_WORKSPACE[1]);
}

static const struct {
    const char *kind;
    const char *step;
    int (*apply)(struct sandbox *sandbox);
    bool before; /* it, not instead of it */
} changes[] = {
    {"leak", "enter_identity", leak_directory, true},
    {"leak", "enter_outer_domain", leak_directory, true},
    {"bind", "make_view_read_only", bind_paths, true},
    {"proc", "mount_proc", show_proc_of_host, false},
    {"workspace", "show_workspace", bind_workspace, false},
    {"readable", "become_unreadable", become_readable, false},
    {"capabilities", "drop_capabilities", keep_capabilities, false},
};

static struct step changed(const struct step *step)
{
    struct step result = *step;
    if (is_out("step", step->name))
        result.apply = succeed;
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        if (!changes[i].before && nth(changes[i].kind, 0) && !strcmp(changes[i].step, step->name))
            result.apply = changes[i].apply;
    return result;
}

int __real_sandbox_apply(struct sandbox *sandbox, const struct step_list *list);
int __wrap_sandbox_apply(struct sandbox *sandbox, const struct step_list *list);
int __wrap_sandbox_apply(struct sandbox *sandbox, const struct step_list *list)
{
    struct step steps[STEPS_LIMIT];
    size_t length = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct step *step = &list->steps[i];
        for (size_t j = 0; j < COUNT_OF(changes); j++)
            if (changes[j].before && nth(changes[j].kind, 0) &&
                !strcmp(changes[j].step, step->name))
                steps[length++] =
                    (struct step){LAYER_COUNT, STEP_PART, "knock-out", changes[j].apply};
        steps[length++] = changed(step);
        if (length + COUNT_OF(changes) >= STEPS_LIMIT)
            abort();
    }
    return __real_sandbox_apply(sandbox, &(struct step_list){steps, length});
}

/* --- Namespaces, and whose the run is --- */

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    static const struct {
        const char *name;
        long flag;
    } namespaces[] = {{"user", CLONE_NEWUSER},   {"pid", CLONE_NEWPID}, {"mount", CLONE_NEWNS},
                      {"network", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}};
    for (size_t i = 0; number == SYS_clone && i < COUNT_OF(namespaces); i++)
        if (is_out("namespace", namespaces[i].name))
            a &= ~namespaces[i].flag;
    return __real_syscall(number, a, b, c, d, e, f);
}

int __real_launch_sandbox(const struct run_environment *environment,
                          const struct sandbox_template *template, struct fork_server *interpreter,
                          struct sandbox_handle *process, struct launch_failure *reterr);
int __wrap_launch_sandbox(const struct run_environment *environment,
                          const struct sandbox_template *template, struct fork_server *interpreter,
                          struct sandbox_handle *process, struct launch_failure *reterr);
int __wrap_launch_sandbox(const struct run_environment *environment,
                          const struct sandbox_template *template, struct fork_server *interpreter,
                          struct sandbox_handle *process, struct launch_failure *reterr)
{
    const struct sandbox_place place = process->place;
    if (nth("user", 0))
        process->place.uid = process->place.gid = (uint32_t)strtoul(nth("user", 0), NULL, 10);
    int result = __real_launch_sandbox(environment, template, interpreter, process, reterr);
    process->place = place;
    return result;
}

/* --- Limits --- */

int __real_setrlimit64(int resource, const struct rlimit *limit);
int __wrap_setrlimit64(int resource, const struct rlimit *limit);
int __wrap_setrlimit64(int resource, const struct rlimit *limit)
{
    static const char *const names[RLIM_NLIMITS] = {
        [RLIMIT_CORE] = "core",
        [RLIMIT_MEMLOCK] = "memlock",
        [RLIMIT_SIGPENDING] = "sigpending",
        [RLIMIT_MSGQUEUE] = "msgqueue",
        [RLIMIT_RTPRIO] = "rtprio",
        [RLIMIT_NICE] = "nice",
        [RLIMIT_NOFILE] = "nofile",
        [RLIMIT_FSIZE] = "fsize",
        [RLIMIT_CPU] = "cpu",
        [RLIMIT_NPROC] = "nproc",
        [RLIMIT_DATA] = "data",
    };
    if (names[resource] && is_out("rlimit", names[resource]))
        return 0;
    return __real_setrlimit64(resource, limit);
}

void __real_cgroup_limit(struct cgroup *cgroup, const struct run_limits *limits);
void __wrap_cgroup_limit(struct cgroup *cgroup, const struct run_limits *limits);
void __wrap_cgroup_limit(struct cgroup *cgroup, const struct run_limits *limits)
{
    struct run_limits kept = *limits;
    if (is_out("cgroup", "memory"))
        kept.memory_bytes = 0;
    if (is_out("cgroup", "pids"))
        kept.processes = 0;
    __real_cgroup_limit(cgroup, &kept);
}

int __real_mount_fd_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode);
int __wrap_mount_fd_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode);
int __wrap_mount_fd_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode)
{
    if (bytes != VIEW_BYTES && is_out("scratch", "size"))
        bytes = 0;
    if (bytes != VIEW_BYTES && is_out("scratch", "inodes"))
        inodes = 0;
    return __real_mount_fd_tmpfs(bytes, inodes, mode);
}

int __real_mount_fd_restrict(int mount, uint64_t flags);
int __wrap_mount_fd_restrict(int mount, uint64_t flags);
int __wrap_mount_fd_restrict(int mount, uint64_t flags)
{
    static const struct {
        const char *name;
        uint64_t flag;
    } known[] = {{"read-only", MOUNT_ATTR_RDONLY},
                 {"nosuid", MOUNT_ATTR_NOSUID},
                 {"nodev", MOUNT_ATTR_NODEV},
                 {"noexec", MOUNT_ATTR_NOEXEC}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (is_out("mount", known[i].name))
            flags &= ~known[i].flag;
    return __real_mount_fd_restrict(mount, flags);
}

/* What the init counts where no control group does. */
enum run_cause __real_supervision_look(struct supervision *supervision);
enum run_cause __wrap_supervision_look(struct supervision *supervision);
enum run_cause __wrap_supervision_look(struct supervision *supervision)
{
    enum run_cause exceeded = __real_supervision_look(supervision);
    if (is_out("init", "dies") && supervision->peak_processes >= DYING_PROCESSES)
        (void)kill(getpid(), SIGKILL);
    return is_out("supervision", "all") ? RUN_CAUSE_EXIT : exceeded;
}

/* What the supervisor does about the children of a first process that was killed. */
bool __real_orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user);
bool __wrap_orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user);
bool __wrap_orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user)
{
    return is_out("orphans", "spared") || __real_orphans_kill(is_spared, user);
}

/* --- System calls --- */

scmp_filter_ctx __real_seccomp_init(uint32_t action);
scmp_filter_ctx __wrap_seccomp_init(uint32_t action);
scmp_filter_ctx __wrap_seccomp_init(uint32_t action)
{
    return __real_seccomp_init(is_out("seccomp", "default") ? SCMP_ACT_ALLOW : action);
}

/* A named group of the list is allowed, one of the guard is gone. libseccomp takes no rule that
 * says what the default says. */
int __real_seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule);
int __wrap_seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule);
int __wrap_seccomp_rule_apply(scmp_filter_ctx context, const struct seccomp_rule *rule)
{
    struct seccomp_rule changed_rule = *rule;
    if (is_out("seccomp", rule->group)) {
        if (!(rule->filters & (SECCOMP_IN_LIST | SECCOMP_IN_LIST_WITH_ATTRIBUTES)))
            return 0;
        changed_rule.action = SCMP_ACT_ALLOW;
    }
    if (changed_rule.action == SCMP_ACT_ALLOW && is_out("seccomp", "default"))
        return 0;
    return __real_seccomp_rule_apply(context, &changed_rule);
}

int __real_seccomp_attr_set(scmp_filter_ctx context, enum scmp_filter_attr attribute,
                            uint32_t value);
int __wrap_seccomp_attr_set(scmp_filter_ctx context, enum scmp_filter_attr attribute,
                            uint32_t value);
int __wrap_seccomp_attr_set(scmp_filter_ctx context, enum scmp_filter_attr attribute,
                            uint32_t value)
{
    if (attribute == SCMP_FLTATR_ACT_BADARCH && is_out("seccomp", "interfaces"))
        value = SCMP_ACT_ALLOW;
    return __real_seccomp_attr_set(context, attribute, value);
}
