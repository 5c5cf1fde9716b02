/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the canaries: see canary.h. */
#include "canary.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness.h"

static void make_token(char token[33])
{
    unsigned char bytes[16];
    ck_assert_int_eq(getrandom(bytes, sizeof(bytes), 0), (int)sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

static void plant_file(struct canary *canary)
{
    char path[128];
    (void)snprintf(canary->directory, sizeof(canary->directory), "/tmp/canary-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(canary->directory));
    ck_assert_int_eq(chmod(canary->directory, 0777), 0);
    (void)snprintf(path, sizeof(path), "%s/file", canary->directory);
    canary->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(canary->file, 0);
    ck_assert_int_eq(fchmod(canary->file, 0666), 0);
    ck_assert_int_eq(write(canary->file, canary->token, strlen(canary->token)), 32);
}

static unsigned int listen_inet(int type, int *ret_socket)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    *ret_socket = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(*ret_socket, (struct sockaddr *)&address, length), 0);
    if (type == SOCK_STREAM)
        ck_assert_int_eq(listen(*ret_socket, 8), 0);
    ck_assert_int_eq(getsockname(*ret_socket, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

static void listen_abstract(struct canary *canary)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", canary->directory);
    canary->abstract_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(canary->abstract_socket, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
                     0);
    ck_assert_int_eq(listen(canary->abstract_socket, 8), 0);
}

/* The address of the token in the target, which it tells when it is ready. */
static unsigned long start_target(struct canary *canary)
{
    char variable[64];
    char path[64];
    char address[32] = "";
    int pair[2];
    (void)snprintf(variable, sizeof(variable), "CANARY=%s", canary->token);
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
    ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, canary->file, 9);
    int failed = posix_spawn(&canary->target, path, &actions, NULL, WORDS("canary", "target"),
                             (char *[]){variable, NULL});
    (void)posix_spawn_file_actions_destroy(&actions);
    close_fd(pair[1]);
    ck_assert_int_eq(failed, 0);
    ck_assert_int_gt(read(pair[0], address, sizeof(address) - 1), 0);
    close_fd(pair[0]);
    return strtoul(address, NULL, 10);
}

int canary_target(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)printf("%lu\n", (unsigned long)(uintptr_t)getenv("CANARY"));
    (void)fflush(stdout);
    return pause();
}

void canary_plant(struct canary *ret)
{
    *ret = (struct canary){.root = -1};
    make_token(ret->token);
    plant_file(ret);
    unsigned int port = listen_inet(SOCK_STREAM, &ret->tcp);
    unsigned int udp_port = listen_inet(SOCK_DGRAM, &ret->udp);
    listen_abstract(ret);
    unsigned long address = start_target(ret);
    size_t size = sizeof(ret->variables[0]);
    (void)snprintf(ret->variables[0], size, "PEEK=1");
    (void)snprintf(ret->variables[1], size, "DIRECTORY=%s", ret->directory);
    (void)snprintf(ret->variables[2], size, "PORT=%u", port);
    (void)snprintf(ret->variables[3], size, "UDP_PORT=%u", udp_port);
    (void)snprintf(ret->variables[4], size, "ABSTRACT=%s", ret->directory);
    (void)snprintf(ret->variables[5], size, "TARGET=%d", (int)ret->target);
    (void)snprintf(ret->variables[6], size, "ADDRESS=%lu", address);
    (void)snprintf(ret->variables[7], size, "PATH=/usr/local/bin:/usr/bin:/bin");
    (void)snprintf(ret->variables[8], size, "LANG=C.UTF-8");
}

void canary_show_target(struct canary *canary)
{
    (void)snprintf(canary->variables[0], sizeof(canary->variables[0]), "PEEK=%d",
                   (int)canary->target);
}

static bool was_connected(int listening)
{
    CLEANUP_CLOSE int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    return fd >= 0;
}

static bool root_was_written(const struct canary *canary)
{
    struct stat passwd;
    return canary->root >= 0 &&
           (faccessat(canary->root, "written", F_OK, 0) == 0 ||
            faccessat(canary->root, "usr/written", F_OK, 0) == 0 ||
            (fstatat(canary->root, "etc/passwd", &passwd, 0) == 0 && passwd.st_size > 0));
}

unsigned int canary_evidence(struct canary *canary, const char *output)
{
    unsigned int evidence = 0;
    char path[128];
    char byte;
    (void)snprintf(path, sizeof(path), "%s/written", canary->directory);
    if (strstr(output, "reached"))
        evidence |= EVIDENCE_WORD;
    if (strstr(output, canary->token))
        evidence |= EVIDENCE_TOKEN;
    if (access(path, F_OK) == 0)
        evidence |= EVIDENCE_FILE;
    if (was_connected(canary->tcp) || was_connected(canary->abstract_socket) ||
        recv(canary->udp, &byte, sizeof(byte), MSG_DONTWAIT) >= 0)
        evidence |= EVIDENCE_CONNECTION;
    if (canary->target == 0 || !process_is_alive(canary->target))
        evidence |= EVIDENCE_DEATH;
    if (root_was_written(canary))
        evidence |= EVIDENCE_ROOT;
    return evidence;
}

void canary_clear(struct canary *canary)
{
    char path[128];
    (void)umount2(canary->directory, MNT_DETACH); /* an attack's */
    (void)snprintf(path, sizeof(path), "%s/file", canary->directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/written", canary->directory);
    (void)unlink(path);
    (void)rmdir(canary->directory);
    (void)kill(canary->target, SIGKILL);
    (void)waitpid(canary->target, NULL, 0);
    close_fd(canary->file);
    close_fd(canary->tcp);
    close_fd(canary->udp);
    close_fd(canary->abstract_socket);
    close_fd(canary->root);
}

void canary_own_mounts(void)
{
    ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
    ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

/* The directory's directories are mounted below the copy, its links made again; of files none is
 * taken, as a mounted one would be the machine's own. Two levels where the copy is written to. */
static bool copy_directory(const char *source, const char *copy, bool deeper)
{
    static const char *const copied[] = {"usr", "etc"};
    DIR *directory = opendir(source);
    struct dirent *entry;
    bool good = directory != NULL;
    while (good && (entry = readdir(directory))) {
        char from[PATH_MAX];
        char to[PATH_MAX];
        char target[PATH_MAX] = "";
        bool copies = false;
        (void)snprintf(from, sizeof(from), "%s/%s", source, entry->d_name);
        (void)snprintf(to, sizeof(to), "%s/%s", copy, entry->d_name);
        for (size_t i = 0; deeper && i < COUNT_OF(copied); i++)
            copies = copies || strcmp(entry->d_name, copied[i]) == 0;
        if (entry->d_type == DT_LNK)
            good = readlink(from, target, sizeof(target) - 1) > 0 && symlink(target, to) == 0;
        else if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            good = mkdir(to, 0755) == 0 &&
                   (copies ? copy_directory(from, to, false)
                           : mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0);
    }
    if (directory)
        (void)closedir(directory);
    return good;
}

void canary_enter_throwaway_root(struct canary *canary)
{
    char stage[] = "/tmp/throwaway-XXXXXX";
    char path[64];
    ck_assert_ptr_nonnull(mkdtemp(stage));
    ck_assert_int_eq(mount("stage", stage, "tmpfs", 0, "mode=0755"), 0);
    ck_assert(copy_directory("/", stage, true));
    (void)snprintf(path, sizeof(path), "%s/etc/passwd", stage);
    CLEANUP_CLOSE int passwd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    ck_assert_int_ge(passwd, 0);
    canary->root = open(stage, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(fchdir(canary->root), 0);
    ck_assert_int_eq(syscall(SYS_pivot_root, ".", "."), 0);
    ck_assert_int_eq(umount2(".", MNT_DETACH), 0);
    ck_assert_int_eq(chdir("/"), 0);
    /* The copy that came along with /tmp. */
    ck_assert_int_eq(umount2(stage, MNT_DETACH), 0);
    ck_assert_int_eq(rmdir(stage), 0);
}
