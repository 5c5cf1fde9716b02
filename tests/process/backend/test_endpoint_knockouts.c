/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step and each group of system calls that only runs with endpoints have, taken away in turn:
 * what it holds then gets through, or nothing is reached. The supervisor is that of the attacks
 * (tests/escape/knock_out.c), in a directory with the list of what is taken away. With --report
 * FILE a table of them is appended to docs/escape-report.md.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "endpoint_broker.h"
#include "suite.h"

#define ATTEMPT(code)                                               \
    "import errno, socket\n"                                        \
    "tcp = lambda: socket.socket(2, 1)\n"                           \
    "def attempt():\n    " code "\ntry: print(attempt() or 'ok')\n" \
    "except OSError as error: print(errno.errorcode[error.errno])"

/* How much fits into a connection that nobody reads. */
#define FILL                                                    \
    "import select\n"                                           \
    "    s = tcp(); s.connect(('127.0.0.1', 8080)); sent = 0\n" \
    "    s.setblocking(False)\n"                                \
    "    while select.select([], [s], [], 1)[1]:\n"             \
    "        sent += s.send(bytes(65536))\n"                    \
    "    return 'little' if sent < 1 << 20 else 'much'"

static const struct {
    const char *taken_away; /* a line for knock_out.c */
    const char *what;       /* the program does */
    const char *code;
    const char *with;    /* what the program prints with it, ... */
    const char *without; /* ... and without it */
    bool by_landlock;    /* of a kernel that knows ports */
} knockouts[] = {
    {"step raise_loopback", "connects to its endpoints",
     ATTEMPT("tcp().connect(('127.0.0.1', 8080))"), "ok", "ENETUNREACH", false},
    {"step hand_over_endpoints", "connects to its endpoints",
     ATTEMPT("tcp().connect(('127.0.0.1', 8080))"), "ok", "ECONNREFUSED", false},
    {"step limit_socket_memory", "fills a connection that nobody reads", ATTEMPT(FILL), "little",
     "much", false},
    {"step restrict_by_landlock", "connects to another port",
     ATTEMPT("tcp().connect(('127.0.0.1', 8081))"), "EACCES", "ECONNREFUSED", true},
    {"step restrict_by_landlock", "binds a socket to a port",
     ATTEMPT("tcp().bind(('127.0.0.1', 0))"), "EACCES", "ok", true},
    {"seccomp sockets with endpoints", "makes a UDP socket", ATTEMPT("socket.socket(2, 2)"),
     "EAFNOSUPPORT", "ok", false},
    {"seccomp pairs of sockets with endpoints", "makes a pair of internet sockets",
     ATTEMPT("socket.socketpair(2, 1)"), "EAFNOSUPPORT", "ENOTSUP", false},
    {"seccomp listening with endpoints", "listens", ATTEMPT("tcp().listen()"), "EPERM", "ok",
     false},
    {"seccomp options with endpoints", "sets an option of TCP",
     ATTEMPT("tcp().setsockopt(6, 2, 1000)"), "ENOTSUP", "ok", false},
    {"seccomp asking for options with endpoints", "asks for an option of TCP",
     ATTEMPT("tcp().getsockopt(6, 2)"), "ENOTSUP", "ok", false},
    {"seccomp fast open with endpoints", "sends as it connects, by sendto()",
     ATTEMPT("tcp().sendto(b'x', 0x20000000, ('127.0.0.1', 8080))"), "EPERM", "ok", false},
    {"seccomp fast open by sendmsg with endpoints", "the same, by sendmsg()",
     ATTEMPT("tcp().sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', 8080))"), "EPERM", "ok", false},
};

static const char *supervisor;

static void copy_program(const char *path)
{
    struct stat status;
    CLEANUP_CLOSE int from = open(supervisor, O_RDONLY | O_CLOEXEC);
    CLEANUP_CLOSE int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    off_t offset = 0;
    ck_assert_int_eq(fstat(from, &status), 0);
    while (offset < status.st_size)
        ck_assert_int_gt(sendfile(to, from, &offset, (size_t)(status.st_size - offset)), 0);
}

/* The backend of the test is one without that; NULL: with all. */
static void restart_without(const char *directory, const char *line)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/knock-out", directory);
    CLEANUP_CLOSE int list = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert_int_ge(list, 0);
    if (line)
        ck_assert_int_gt(dprintf(list, "%s\n", line), 0);
    backend_stop(&backend);
    backend = backend_start();
}

static void expect(const char *code, const char *answer)
{
    char expected[64];
    struct broker broker = broker_start("");
    struct run_description description = describe(WORDS("python3", "-c", code));
    description.endpoints = 1;
    (void)snprintf(expected, sizeof(expected), "%s\n", answer);
    expect_output(&description, expected);
    broker_stop(&broker);
}

START_TEST(each_is_needed)
{
    char directory[] = "/tmp/endpoint-knockouts-XXXXXX";
    char program[128];
    char list[128];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chmod(directory, 0755), 0);
    (void)snprintf(program, sizeof(program), "%s/supervisor", directory);
    (void)snprintf(list, sizeof(list), "%s/knock-out", directory);
    copy_program(program);
    ck_assert_int_eq(setenv("CODE_EXECUTE_PROCESS", program, 1), 0);
    restart_without(directory, NULL);
    expect(knockouts[_i].code, knockouts[_i].with);
    restart_without(directory, knockouts[_i].taken_away);
    expect(knockouts[_i].code, knockouts[_i].without);
    (void)unlink(list);
    (void)unlink(program);
    (void)rmdir(directory);
}
END_TEST

/* false: it cannot be written. */
static bool report(const char *path, bool has_ports)
{
    FILE *file = fopen(path, "ae");
    if (!file)
        return false;
    (void)fprintf(
        file,
        "\n## Knock-outs of runs with endpoints\n\n"
        "`tests/process/backend/test_endpoint_knockouts.c` makes this table, by the same backend "
        "as above. It removes each layer that only these runs have, and\n"
        "Landlock. The program then gets another answer.\n\n"
        "| layer taken away | the program | with the layer | without it |\n"
        "|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(knockouts); i++)
        if (!knockouts[i].by_landlock || has_ports)
            (void)fprintf(file, "| %s | %s | %s | %s |\n", knockouts[i].taken_away,
                          knockouts[i].what, knockouts[i].with, knockouts[i].without);
    return fclose(file) == 0;
}

int main(int count, char **words)
{
    supervisor = getenv("CODE_EXECUTE_KNOCK_OUT");
    if (!supervisor)
        abort();
    suite_begin("endpoint knockouts");
    bool has_ports = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 4;
    for (size_t i = 0; i < COUNT_OF(knockouts); i++)
        suite_add_round(each_is_needed, (int)i, knockouts[i].taken_away,
                        knockouts[i].by_landlock && !has_ports
                            ? "this kernel's Landlock knows no ports"
                            : NULL);
    int status = suite_end();
    if (status == 0 && count == 3 && strcmp(words[1], "--report") == 0)
        return report(words[2], has_ports) ? 0 : 1;
    return status;
}
