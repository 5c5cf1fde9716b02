/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the broker's confinement: see confinement.h. Runs in the broker, at its start. */
#include "backends/egress/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/common/self_confinement.h"
#include "base/cleanup.h"
#include "guest/layers/landlock.h"

/* Where the gateway is root. Below the least of the policy's outer_uids, above the ranges of
 * distributions (Debian's policy, 9.2.2: 65000-65533 are reserved) and of systemd's dynamic users
 * (61184-65519). */
#define BROKER_UID 65532

/* What the C library, libcurl and its TLS library read: certificates, resolv.conf, nsswitch.conf,
 * hosts, and modules. */
static const struct landlock_rule readable[] = {
    {"/etc", LANDLOCK_READ},
    {"/usr", LANDLOCK_READ},
    {"/lib", LANDLOCK_READ},
    {"/lib64", LANDLOCK_READ},
    {"/run/systemd/resolve", LANDLOCK_READ},
    {"/run/resolvconf", LANDLOCK_READ},
    {"/var/lib/ca-certificates", LANDLOCK_READ},
};

/* A call that is not here fails with EPERM. execve, ptrace, mount and bind are not. */
static const int allowed_calls[] = {
    /* memory */
    SCMP_SYS(brk),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect),
    SCMP_SYS(madvise),
    SCMP_SYS(mlock),
    SCMP_SYS(mlock2),
    SCMP_SYS(munlock),
    /* descriptors */
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(readv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(sendfile),
    SCMP_SYS(close),
    SCMP_SYS(dup),
    SCMP_SYS(fcntl),
    SCMP_SYS(lseek),
    SCMP_SYS(ioctl),
    SCMP_SYS(pipe2),
    SCMP_SYS(eventfd2),
    SCMP_SYS(socketpair),
    /* files, which Landlock has narrowed to reading */
    SCMP_SYS(openat),
    SCMP_SYS(open),
    SCMP_SYS(newfstatat),
    SCMP_SYS(fstat),
    SCMP_SYS(stat),
    SCMP_SYS(statx),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),
    /* waiting */
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(futex),
    SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(restart_syscall),
    /* sockets; socket itself is below */
    SCMP_SYS(connect),
    SCMP_SYS(accept4),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(shutdown),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    /* the resolver's threads */
    SCMP_SYS(clone3),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_yield),
    SCMP_SYS(exit),
    SCMP_SYS(gettid),
    SCMP_SYS(prctl),
    /* the process */
    SCMP_SYS(exit_group),
    SCMP_SYS(getpid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(tgkill),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrandom),
    SCMP_SYS(prlimit64),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrusage),
};

/* A resolver asks by UDP or TCP; netlink tells it which addresses the machine has. */
static const int families[] = {AF_INET, AF_INET6, AF_NETLINK};

/* Threads, not processes. */
static int allow_more(scmp_filter_ctx filter)
{
    int result =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                         SCMP_A0(SCMP_CMP_MASKED_EQ, 0x00010000 /* CLONE_THREAD */, 0x00010000));
    for (size_t i = 0; result == 0 && i < COUNT_OF(families); i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0));
    return result;
}

static int give_up_other_calls(void)
{
    static const struct allowed_calls list = {allowed_calls, COUNT_OF(allowed_calls)};
    return give_up_calls(&list, 1, allow_more);
}

/* In a user namespace that does not have the id, root is an ordinary user outside; it then stays
 * who it is, without capabilities. */
static int leave_root(void)
{
    if (geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) < 0 && errno != EPERM)
        return -1;
    if (setresgid(BROKER_UID, BROKER_UID, BROKER_UID) < 0)
        return errno == EINVAL ? 0 : -1;
    return setresuid(BROKER_UID, BROKER_UID, BROKER_UID) < 0 && errno != EINVAL ? -1 : 0;
}

/* Where the kernel has none, the user and the system calls remain. */
static int narrow_files(void)
{
    return landlock_abi() == 0 ? 0 : landlock_restrict_files(readable, COUNT_OF(readable));
}

const char *confinement_enter(void)
{
    static const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) < 0)
        return "core dumps";
    if (leave_root() < 0)
        return "root";
    if (give_up_capabilities() < 0)
        return "capabilities";
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return "the dumpable attribute";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return "new privileges";
    if (narrow_files() < 0)
        return "the file system";
    return give_up_other_calls() < 0 ? "system calls" : NULL;
}
