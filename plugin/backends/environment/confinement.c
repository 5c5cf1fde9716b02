/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the program's confinement: see commands.h. */
#include "backends/environment/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/common/self_confinement.h"
#include "base/cleanup.h"
#include "guest/layers/landlock.h"

/* AddressSanitizer maps terabytes. */
#if defined(__has_feature)
#define SHADOW_MEMORY __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SHADOW_MEMORY 1
#else
#define SHADOW_MEMORY 0
#endif

#define DIRECTORY_PATH "/proc/self/fd/3" /* DIRECTORY_FD */
#define MEMORY_BYTES   (UINT64_C(1) << 30)
#define DESCRIPTORS    256                         /* one a level of the tree, and some */
#define LINE_BYTES     (2 * TREE_PATH_LIMIT + 128) /* of the inventory, at most */

/* A call that is not here fails with EPERM. */
static const int allowed_calls[] = {
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    /* descriptors */
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(fcntl),
    /* files, which Landlock has narrowed to one directory */
    SCMP_SYS(openat),
    SCMP_SYS(openat2),
    SCMP_SYS(newfstatat),
    SCMP_SYS(fstat),
    SCMP_SYS(statx),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(fadvise64),
    /* the process */
    SCMP_SYS(exit_group),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(tgkill),
};

/* Where it installs. */
static const int writing_calls[] = {
    SCMP_SYS(mkdirat),  SCMP_SYS(symlinkat), SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat), SCMP_SYS(utimensat), SCMP_SYS(syncfs),
};

/* Memory, but none that could be executed. */
static int allow_memory(scmp_filter_ctx filter)
{
    int result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));
    return result < 0 ? result
                      : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                         SCMP_A2(SCMP_CMP_MASKED_EQ, 4, 0));
}

static int give_up_other_calls(bool installs)
{
    static const struct allowed_calls lists[] = {
        {allowed_calls, COUNT_OF(allowed_calls)},
        {writing_calls, COUNT_OF(writing_calls)},
    };
    return give_up_calls(lists, installs ? 2 : 1, allow_memory);
}

/* Where the kernel has none, the system calls remain. Without /proc nothing may be opened. */
static int narrow_files(bool installs)
{
    const struct landlock_rule rule = {DIRECTORY_PATH, installs ? LANDLOCK_SCRATCH : LANDLOCK_READ};
    return landlock_abi() == 0 ? 0 : landlock_restrict_to(&rule, 1);
}

static int limit(int resource, uint64_t value)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
        return -1;
    if (value < now.rlim_max)
        now.rlim_max = (rlim_t)value;
    now.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &now);
}

static uint64_t longest_file(const struct tree_limits *limits)
{
    if (limits->inodes >= UINT64_MAX / LINE_BYTES - 1)
        return UINT64_MAX;
    uint64_t inventory = (limits->inodes + 1) * LINE_BYTES;
    return inventory > limits->bytes ? inventory : limits->bytes;
}

static int limit_resources(const struct tree_limits *limits)
{
    if (!SHADOW_MEMORY && limit(RLIMIT_AS, MEMORY_BYTES) < 0)
        return -1;
    return limit(RLIMIT_CORE, 0) < 0 || limit(RLIMIT_NOFILE, DESCRIPTORS) < 0 ||
                   limit(RLIMIT_FSIZE, longest_file(limits)) < 0
               ? -1
               : 0;
}

/* Whatever the gateway has left open, ignores or blocks. */
static int settle_process(void)
{
    sigset_t none;
    if (close_range(DIRECTORY_FD + 1, ~0U, 0) < 0 || chdir("/") < 0)
        return -1;
    (void)umask(077);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, number == SIGPIPE || number == SIGXFSZ ? SIG_IGN : SIG_DFL);
    (void)sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

const char *confinement_enter(bool installs, const struct tree_limits *limits)
{
    if (settle_process() < 0)
        return "what the gateway has left open";
    if (limit_resources(limits) < 0)
        return "resources";
    if (give_up_capabilities() < 0)
        return "capabilities";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return "new privileges";
    if (narrow_files(installs) < 0)
        return "the file system";
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return "the dumpable attribute";
    return give_up_other_calls(installs) < 0 ? "system calls" : NULL;
}
