/* SPDX-License-Identifier: Apache-2.0 */
/*
 * landlock: the second check behind the mounts, without the mounts. Each attempt is made by a child
 * that nothing holds back, which succeeds, and by one behind the ruleset. Single-threaded.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"
#include "base/cleanup.h"
#include "tap_suite.h"

/* Where the ruleset gives the right to read, and where it gives the rights of scratch. */
static char outside[] = "/var/tmp/test-landlock-XXXXXX";
static char inside[] = "/tmp/test-landlock-XXXXXX";
static struct sockaddr_in listening; /* on this machine, by the test */
static struct sockaddr_un abstract;
static const socklen_t abstract_length = offsetof(struct sockaddr_un, sun_path) + 32;

static int no_error(int result)
{
    return result < 0 ? errno : 0;
}

static int open_at(const char *path, int flags)
{
    CLEANUP_CLOSE int fd = open(path, flags | O_CLOEXEC, 0600);
    return no_error(fd);
}

static int read_file(void)
{
    return open_at("file", O_RDONLY);
}

static int write_file(void)
{
    return open_at("file", O_WRONLY);
}

static int truncate_file(void)
{
    return no_error(truncate("file", 0));
}

static int make_file(void)
{
    return open_at("new", O_WRONLY | O_CREAT | O_EXCL);
}

static int make_directory(void)
{
    return no_error(mkdir("new", 0700));
}

static int make_link(void)
{
    return no_error(symlink("file", "new"));
}

static int make_pipe(void)
{
    return no_error(mkfifo("new", 0600));
}

static int make_socket(void)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "new"};
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return no_error(bind(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int make_device(void)
{
    return no_error(mknod("new", S_IFCHR | 0600, makedev(1, 3)));
}

static int make_block_device(void)
{
    return no_error(mknod("new", S_IFBLK | 0600, makedev(7, 0)));
}

static int remove_file(void)
{
    return no_error(unlink("file"));
}

static int remove_directory(void)
{
    return no_error(rmdir("directory"));
}

static int move_file(void)
{
    return no_error(rename("file", "directory/file"));
}

static int open_given_device(void)
{
    return open_at("/dev/null", O_RDWR | O_TRUNC);
}

static int open_other_device(void)
{
    return open_at("/dev/ptmx", O_RDWR | O_NOCTTY);
}

static int control_other_device(void)
{
    int number;
    CLEANUP_CLOSE int fd = open("/dev/ptmx", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? ENODEV : no_error(ioctl(fd, TIOCGPTN, &number));
}

static int connect_by_network(void)
{
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return no_error(connect(fd, (const struct sockaddr *)&listening, sizeof(listening)));
}

static int listen_on_network(void)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = listening.sin_addr};
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return no_error(bind(fd, (const struct sockaddr *)&any, sizeof(any)));
}

static int connect_to_endpoints(void)
{
    const struct sockaddr_in port = {.sin_family = AF_INET,
                                     .sin_port = htons(RUN_ENDPOINTS_PORT),
                                     .sin_addr = listening.sin_addr};
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = no_error(connect(fd, (const struct sockaddr *)&port, sizeof(port)));
    return error == ECONNREFUSED ? 0 : error; /* nobody need be there */
}

static int connect_by_name(void)
{
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return no_error(connect(fd, (const struct sockaddr *)&abstract, abstract_length));
}

static int signal_parent(void)
{
    return no_error(kill(getppid(), 0));
}

#define ENDPOINTS 2

static const struct {
    const char *name;
    int (*attempt)(void); /* 0 or errno */
    const char *place;
    int refused; /* with that; 0: not at all */
    int abi;     /* the first that has the right */
    int network; /* 0: none, 1, ENDPOINTS */
    bool takes_root;
} attempts[] = {
    {"read outside", read_file, outside, 0, 1, false, false},
    {"write outside", write_file, outside, EACCES, 1, false, false},
    {"truncate outside", truncate_file, outside, EACCES, 3, false, false},
    {"make a file outside", make_file, outside, EACCES, 1, false, false},
    {"make a directory outside", make_directory, outside, EACCES, 1, false, false},
    {"make a link outside", make_link, outside, EACCES, 1, false, false},
    {"make a pipe outside", make_pipe, outside, EACCES, 1, false, false},
    {"make a socket outside", make_socket, outside, EACCES, 1, false, false},
    {"make a device outside", make_device, outside, EACCES, 1, false, true},
    {"remove a file outside", remove_file, outside, EACCES, 1, false, false},
    {"remove a directory outside", remove_directory, outside, EACCES, 1, false, false},
    {"read inside", read_file, inside, 0, 1, false, false},
    {"write inside", write_file, inside, 0, 1, false, false},
    {"truncate inside", truncate_file, inside, 0, 3, false, false},
    {"make a file inside", make_file, inside, 0, 1, false, false},
    {"make a directory inside", make_directory, inside, 0, 1, false, false},
    {"make a link inside", make_link, inside, 0, 1, false, false},
    {"make a pipe inside", make_pipe, inside, 0, 1, false, false},
    {"make a socket inside", make_socket, inside, 0, 1, false, false},
    {"make a device inside", make_device, inside, EACCES, 1, false, true},
    {"make a block device inside", make_block_device, inside, EACCES, 1, false, true},
    {"remove a file inside", remove_file, inside, 0, 1, false, false},
    {"remove a directory inside", remove_directory, inside, 0, 1, false, false},
    {"move a file inside", move_file, inside, 0, 2, false, false},
    {"open a device that is given", open_given_device, inside, 0, 1, false, false},
    {"write to another device", open_other_device, inside, EACCES, 1, false, false},
    {"control another device", control_other_device, inside, EACCES, 5, false, false},
    {"connect by network", connect_by_network, inside, EACCES, 4, false, false},
    {"listen on the network", listen_on_network, inside, EACCES, 4, false, false},
    {"connect by network with one", connect_by_network, inside, 0, 4, true, false},
    {"listen on the network with one", listen_on_network, inside, 0, 4, true, false},
    {"connect to endpoints without any", connect_to_endpoints, inside, EACCES, 4, false, false},
    {"connect to endpoints", connect_to_endpoints, inside, 0, 4, ENDPOINTS, false},
    {"connect to another port with endpoints", connect_by_network, inside, EACCES, 4, ENDPOINTS,
     false},
    {"listen on the network with endpoints", listen_on_network, inside, EACCES, 4, ENDPOINTS,
     false},
    {"connect to an abstract name with endpoints", connect_by_name, inside, EPERM, 6, ENDPOINTS,
     false},
    {"connect to an abstract name", connect_by_name, inside, EPERM, 6, false, false},
    {"connect to an abstract name with a network", connect_by_name, inside, EPERM, 6, true, false},
    {"signal a process outside", signal_parent, inside, EPERM, 6, false, false},
};

static int landlock_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
}

/* As "cd PLACE && COMMAND". */
static void run_at(const char *place, const char *command)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "cd %s && %s", place, command);
    ck_assert_int_eq(system(text), 0);
}

static int make_listener(int family, const void *address, socklen_t length)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, address, length), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    return fd;
}

static void make(void)
{
    socklen_t length = sizeof(listening);
    ck_assert_ptr_nonnull(mkdtemp(outside));
    ck_assert_ptr_nonnull(mkdtemp(inside));
    listening =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    abstract = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(abstract.sun_path + 1, 31, "test-landlock-%d", (int)getpid());
    int fd = make_listener(AF_INET, &listening, sizeof(listening));
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&listening, &length), 0);
    (void)make_listener(AF_UNIX, &abstract, abstract_length);
}

static void unmake(void)
{
    run_at(outside, "rm -rf \"$PWD\"");
    run_at(inside, "rm -rf \"$PWD\"");
}

/* 0 or the error number of the attempt; ENOSYS: the ruleset could not be put on. */
static int attempt_in_child(size_t number, bool restricted)
{
    int status;
    run_at(attempts[number].place,
           "rm -rf file new directory && echo text >file && mkdir directory");
    pid_t child = fork();
    if (child == 0) {
        struct sandbox_template template = {
            .network = attempts[number].network == 1,
            .endpoints = attempts[number].network == ENDPOINTS,
        };
        struct sandbox sandbox = {.template = &template};
        if (chdir(attempts[number].place) != 0)
            _exit(ENOTDIR);
        if (restricted &&
            (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || restrict_by_landlock(&sandbox) != 0 ||
             sandbox.isolation.landlock_abi != (uint32_t)landlock_abi()))
            _exit(ENOSYS);
        _exit(attempts[number].attempt());
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(gives_what_it_says_and_no_more)
{
    size_t number = (size_t)_i;
    bool known = landlock_abi() >= attempts[number].abi;
    ck_assert_msg(attempt_in_child(number, false) == 0, "%s: not even so", attempts[number].name);
    int error = attempt_in_child(number, true);
    ck_assert_msg(error == (known ? attempts[number].refused : 0), "%s: %s", attempts[number].name,
                  strerror(error));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("landlock")};
    if (landlock_abi() <= 0) {
        puts("1..0 # SKIP this kernel has no Landlock");
        return EXIT_SUCCESS;
    }
    tcase_add_checked_fixture(cases[0], make, unmake);
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        if (!attempts[i].takes_root || geteuid() == 0)
            tcase_add_loop_test(cases[0], gives_what_it_says_and_no_more, (int)i, (int)i + 1);
    return run_suite("landlock", cases, COUNT_OF(cases));
}
