/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the filters of process mode without namespaces take away, where Landlock would not: each
 * attempt is made by a child behind them, and by one that nothing holds back, which succeeds. As an
 * ordinary user, who has the files and processes that the attempts are about.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "filtered_child.h"
#include "tap_suite.h"

#define NOBODY 65534

static char top[] = "/tmp/test-unprivileged-calls-XXXXXX";
static int home = -1;
static struct sockaddr_un datagrams = {.sun_family = AF_UNIX}; /* of the test's socket */
static struct sockaddr_un streams = {.sun_family = AF_UNIX};
static int receiver = -1;
static int listening = -1;
static int given = -1; /* a datagram socket that the child has */

static int no_error(long result)
{
    return result < 0 ? errno : 0;
}

static const struct sockaddr *address(const struct sockaddr_un *of)
{
    return (const struct sockaddr *)of;
}

/* sendmsg(2) has the address behind a pointer. */
static int datagram_from_pair(void)
{
    int pair[2];
    char letter = 'x';
    struct iovec word = {&letter, sizeof(letter)};
    const struct msghdr message = {&datagrams, sizeof(datagrams), &word, 1, NULL, 0, 0};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
        return errno;
    return no_error(sendmsg(pair[0], &message, 0));
}

static int connect_to_path(void)
{
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? errno : no_error(connect(fd, address(&streams), sizeof(streams)));
}

static int make_internet_socket(void)
{
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return no_error(fd);
}

static int send_to_path(void)
{
    return no_error(sendto(given, "x", 1, 0, address(&datagrams), sizeof(datagrams)));
}

static int connect_given(void)
{
    return no_error(connect(given, address(&datagrams), sizeof(datagrams)));
}

static int bind_given(void)
{
    const struct sockaddr_un own = {.sun_family = AF_UNIX, .sun_path = "bound"};
    int error = no_error(bind(given, address(&own), sizeof(own)));
    (void)unlink("bound");
    return error;
}

static int listen_given(void)
{
    return no_error(listen(listening, 1));
}

static int accept_given(void)
{
    int error = no_error(accept4(listening, NULL, NULL, SOCK_CLOEXEC));
    return error == EAGAIN ? 0 : error;
}

static int shared_memory(void)
{
    int id = shmget(IPC_PRIVATE, 4096, 0600);
    return id < 0 ? errno : no_error(shmctl(id, IPC_RMID, NULL));
}

static int semaphore(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    return id < 0 ? errno : no_error(semctl(id, 0, IPC_RMID));
}

static int messages(void)
{
    int id = msgget(IPC_PRIVATE, 0600);
    return id < 0 ? errno : no_error(msgctl(id, IPC_RMID, NULL));
}

static int message_queue(void)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "/test-unprivileged-calls-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, NULL);
    return queue < 0 ? errno : no_error(mq_unlink(name));
}

static int memory_file(void)
{
    CLEANUP_CLOSE int fd = memfd_create("memory", MFD_CLOEXEC);
    return no_error(fd);
}

static int map(int flags)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? errno : 0;
}

static int shared_mapping(void)
{
    return map(MAP_SHARED | MAP_ANONYMOUS);
}

static int pages_in_pipe(void)
{
    int ends[2];
    static char letter;
    struct iovec page = {&letter, sizeof(letter)};
    return pipe2(ends, O_CLOEXEC) < 0 ? errno : no_error(vmsplice(ends[1], &page, 1, 0));
}

static int set_limit_of(pid_t pid)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return errno;
    return no_error(prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
}

static int limit_of_another(void)
{
    return set_limit_of(getppid());
}

static int priority_of_another(void)
{
    return no_error(setpriority(PRIO_PROCESS, (id_t)getppid(), getpriority(PRIO_PROCESS, 0)));
}

static int priority_of_group(void)
{
    return no_error(setpriority(PRIO_PGRP, (id_t)getpgid(getppid()), getpriority(PRIO_PROCESS, 0)));
}

static int set_processors_of(pid_t pid)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return errno;
    return no_error(sched_setaffinity(pid, sizeof(set), &set));
}

static int processors_of_another(void)
{
    return set_processors_of(getppid());
}

static int policy_of_another(void)
{
    const struct sched_param none = {.sched_priority = 0};
    return no_error(sched_setscheduler(getppid(), SCHED_OTHER, &none));
}

static int parameter_of_another(void)
{
    const struct sched_param none = {.sched_priority = 0};
    return no_error(sched_setparam(getppid(), &none));
}

static int keep_orphans(void)
{
    return no_error(prctl(PR_SET_CHILD_SUBREAPER, 1));
}

static int hide(void)
{
    return no_error(prctl(PR_SET_DUMPABLE, 0));
}

static int leave_parent(void)
{
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return no_error(pid);
}

static int request_to_file(void)
{
    int size;
    CLEANUP_CLOSE int fd = open("file", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : no_error(ioctl(fd, FIGETBSZ, &size));
}

static int made(long fd)
{
    int error = no_error(fd);
    (void)unlink("new");
    return error;
}

static int set_user_id_by_open(void)
{
#ifdef SYS_open
    return made(syscall(SYS_open, "new", O_WRONLY | O_CREAT | O_EXCL, 04755));
#else
    return made(syscall(SYS_openat, AT_FDCWD, "new", O_WRONLY | O_CREAT | O_EXCL, 04755));
#endif
}

static int set_group_id_by_openat(void)
{
    return made(syscall(SYS_openat, AT_FDCWD, "new", O_WRONLY | O_CREAT | O_EXCL, 02755));
}

static int set_user_id_without_name(void)
{
    return no_error(syscall(SYS_openat, AT_FDCWD, ".", O_WRONLY | O_TMPFILE, 04755));
}

static int set_user_id_by_creat(void)
{
#ifdef SYS_creat
    return made(syscall(SYS_creat, "new", 06755));
#else
    return set_user_id_by_open();
#endif
}

static int set_user_id_by_mknodat(void)
{
    return made(syscall(SYS_mknodat, AT_FDCWD, "new", S_IFREG | 04755, 0));
}

static int open_by_openat2(void)
{
    const struct open_how how = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 04755};
    return made(syscall(SYS_openat2, AT_FDCWD, "new", &how, sizeof(how)));
}

static const struct {
    int (*attempt)(void);
    int refusal;
} attempts[] = {
    {datagram_from_pair, EAFNOSUPPORT},
    {connect_to_path, EAFNOSUPPORT},
    {make_internet_socket, EAFNOSUPPORT},
    {send_to_path, EPERM},
    {connect_given, EPERM},
    {bind_given, EPERM},
    {listen_given, EPERM},
    {accept_given, EPERM},
    {shared_memory, ENOSYS},
    {semaphore, ENOSYS},
    {messages, ENOSYS},
    {message_queue, ENOSYS},
    {memory_file, ENOSYS},
    {shared_mapping, EPERM},
    {pages_in_pipe, EPERM},
    {limit_of_another, EPERM},
    {priority_of_another, EPERM},
    {priority_of_group, EPERM},
    {processors_of_another, EPERM},
    {policy_of_another, EPERM},
    {parameter_of_another, EPERM},
    {keep_orphans, EPERM},
    {leave_parent, EPERM},
    {hide, EPERM},
    {request_to_file, EOPNOTSUPP},
    {set_user_id_by_open, EPERM},
    {set_group_id_by_openat, EPERM},
    {set_user_id_without_name, EPERM},
    {set_user_id_by_creat, EPERM},
    {set_user_id_by_mknodat, EPERM},
    {open_by_openat2, ENOSYS},
};

static int talk_in_pair(int type)
{
    int pair[2];
    char word;
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0 ||
        send(pair[0], "x", 1, 0) != 1)
        return errno;
    return no_error(recv(pair[1], &word, 1, 0));
}

static int pair_of_streams(void)
{
    return talk_in_pair(SOCK_STREAM);
}

static int pair_of_packets(void)
{
    return talk_in_pair(SOCK_SEQPACKET);
}

static int own_mapping(void)
{
    return map(MAP_PRIVATE | MAP_ANONYMOUS);
}

static int mapping_of_file(void)
{
    CLEANUP_CLOSE int fd = open("file", O_RDWR | O_CLOEXEC);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? errno : 0;
}

static int own_limit(void)
{
    return set_limit_of(0);
}

static int own_priority(void)
{
    return no_error(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)));
}

static int own_processors(void)
{
    return set_processors_of(0);
}

static int requests_to_pipe(void)
{
    int ends[2];
    int count;
    int on = 1;
    if (pipe2(ends, O_CLOEXEC) < 0 || ioctl(ends[0], FIONBIO, &on) < 0)
        return errno;
    return no_error(ioctl(ends[0], FIONREAD, &count));
}

static int child_and_session(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(no_error(setsid()));
    return waitpid(pid, &status, 0) < 0 ? errno : WEXITSTATUS(status);
}

static int sticky_directory(void)
{
    int error = no_error(mkdir("new", 01777));
    (void)rmdir("new");
    return error;
}

static int ordinary_file(void)
{
    return made(open("new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
}

static int (*const ordinary[])(void) = {
    pair_of_streams,   pair_of_packets,  own_mapping,    mapping_of_file,
    own_limit,         own_priority,     own_processors, requests_to_pipe,
    child_and_session, sticky_directory, ordinary_file,
};

static int run(bool filtered, int (*attempt)(void))
{
    struct filtered_child child = {.home = home, .filtered = filtered};
    int result = filtered_child_run(&child, attempt);
    ck_assert_int_eq(child.other_call, 0);
    return result;
}

static int bound_socket(int type, const char *name, struct sockaddr_un *of)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    (void)snprintf(of->sun_path, sizeof(of->sun_path), "%s/%s", top, name);
    ck_assert_int_eq(bind(fd, address(of), sizeof(*of)), 0);
    return fd;
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    home = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP_CLOSE int file = openat(home, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    receiver = bound_socket(SOCK_DGRAM, "datagrams", &datagrams);
    listening = bound_socket(SOCK_STREAM | SOCK_NONBLOCK, "streams", &streams);
    ck_assert_int_eq(listen(listening, 8), 0);
    given = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(given, 0);
}

static void tear_down(void)
{
    int *const all[] = {&home, &receiver, &listening, &given};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        close_fd(TAKE_FD(*all[i]));
    remove_tree(top);
}

START_TEST(refused)
{
    int result = run(true, attempts[_i].attempt);
    ck_assert_msg(result == attempts[_i].refusal, "%s", strerror(result));
    result = run(false, attempts[_i].attempt);
    ck_assert_msg(result == 0, "the control: %s", strerror(result));
}
END_TEST

START_TEST(left)
{
    ck_assert_int_eq(run(true, ordinary[_i]), 0);
    ck_assert_int_eq(run(false, ordinary[_i]), 0);
}
END_TEST

static int set_extended_attribute(void)
{
    return no_error(setxattr("file", "user.test", "x", 1, 0));
}

/* Some file systems have none, and say the same. */
START_TEST(extended_attributes)
{
    ck_assert_int_eq(run(true, set_extended_attribute), EOPNOTSUPP);
    int result = run(false, set_extended_attribute);
    ck_assert_msg(result == 0 || result == EOPNOTSUPP, "the control: %s", strerror(result));
}
END_TEST

static bool be_ordinary(void)
{
    return geteuid() != 0 ||
           (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0 &&
            prctl(PR_SET_DUMPABLE, 1) == 0);
}

int main(void)
{
    if (!be_ordinary())
        return EXIT_FAILURE;
    TCase *tests = tcase_create("unprivileged calls");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, refused, 0, COUNT_OF(attempts));
    tcase_add_loop_test(tests, left, 0, COUNT_OF(ordinary));
    tcase_add_test(tests, extended_attributes);
    return run_suite("unprivileged calls", &tests, 1);
}
