/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs with endpoints do not get: nothing beside their broker is reached, listens or opens.
 * The same attempts without a sandbox are the controls.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "endpoint_broker.h"
#include "endpoint_runs.h"
#include "suite.h"

enum control {
    CONTROL_OK,   /* without a sandbox it is done */
    CONTROL_ROOT, /* so by root only */
    CONTROL_ELSE, /* the kernel answers otherwise, as the case may be */
};

static const struct {
    const char *name;
    const char *code;
    const char *answer;
    enum control control;
    bool by_landlock; /* of a kernel that knows ports */
} attempts[] = {
    {"UDP", ATTEMPT("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"), "EAFNOSUPPORT", CONTROL_OK,
     false},
    {"UDP without waiting",
     ATTEMPT("socket.socket(2, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)"),
     "EAFNOSUPPORT", CONTROL_OK, false},
    {"UDP by protocol", ATTEMPT("socket.socket(2, 2, 17)"), "EAFNOSUPPORT", CONTROL_OK, false},
    {"ping", ATTEMPT("socket.socket(2, 2, 1)"), "EAFNOSUPPORT", CONTROL_ELSE, false},
    {"raw", ATTEMPT("socket.socket(2, socket.SOCK_RAW, 1)"), "EAFNOSUPPORT", CONTROL_ROOT, false},
    {"TCP as raw", ATTEMPT("socket.socket(2, socket.SOCK_RAW, 6)"), "EAFNOSUPPORT", CONTROL_ROOT,
     false},
    {"MPTCP", ATTEMPT("socket.socket(2, 1, 262)"), "EAFNOSUPPORT", CONTROL_ELSE, false},
    {"IPv6", ATTEMPT("socket.socket(socket.AF_INET6, socket.SOCK_STREAM)"), "EAFNOSUPPORT",
     CONTROL_ELSE, false},
    {"netlink", ATTEMPT("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"), "EAFNOSUPPORT",
     CONTROL_OK, false},
    {"packet", ATTEMPT("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"), "EAFNOSUPPORT",
     CONTROL_ROOT, false},
    {"listening", ATTEMPT("tcp().listen()"), "EPERM", CONTROL_OK, false},
    {"listening by path",
     ATTEMPT("s = socket.socket(socket.AF_UNIX); s.bind(b'\\0name%d' % os.getpid()); s.listen()"),
     "EPERM", CONTROL_OK, false},
    {"binding a port", ATTEMPT("tcp().bind(('127.0.0.1', 0))"), "EACCES", CONTROL_OK, true},
    {"segment size", ATTEMPT("tcp().setsockopt(6, 2, 1000)"), "ENOTSUP", CONTROL_OK, false},
    {"fast open of connections", ATTEMPT("tcp().setsockopt(6, 30, 1)"), "ENOTSUP", CONTROL_OK,
     false},
    {"congestion control", ATTEMPT("tcp().setsockopt(6, 13, b'reno')"), "ENOTSUP", CONTROL_OK,
     false},
    {"time to live", ATTEMPT("tcp().setsockopt(0, 2, 9)"), "ENOTSUP", CONTROL_OK, false},
    {"reuse of ports", ATTEMPT("tcp().setsockopt(1, 15, 1)"), "ENOTSUP", CONTROL_OK, false},
    {"zero copy", ATTEMPT("tcp().setsockopt(1, 60, 1)"), "ENOTSUP", CONTROL_OK, false},
    {"marks", ATTEMPT("tcp().setsockopt(1, 36, 1)"), "ENOTSUP", CONTROL_ROOT, false},
    {"repair", ATTEMPT("tcp().setsockopt(6, 19, 1)"), "ENOTSUP", CONTROL_ROOT, false},
    {"upper protocols", ATTEMPT("tcp().setsockopt(6, 31, b'tls')"), "ENOTSUP", CONTROL_ELSE, false},
    {"signatures", ATTEMPT("tcp().setsockopt(6, 14, bytes(200))"), "ENOTSUP", CONTROL_ELSE, false},
    {"filters", ATTEMPT("tcp().setsockopt(1, 26, bytes(16))"), "ENOTSUP", CONTROL_ELSE, false},
    {"asking for repair", ATTEMPT("tcp().getsockopt(6, 19)"), "ENOTSUP", CONTROL_OK, false},
    {"asking for pages", ATTEMPT("tcp().getsockopt(6, 35, 64)"), "ENOTSUP", CONTROL_ELSE, false},
    {"fast open", ATTEMPT("tcp().sendto(b'x', 0x20000000, ('127.0.0.1', 8080))"), "EPERM",
     CONTROL_ELSE, false},
    {"fast open by message", ATTEMPT("tcp().sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', 8080))"),
     "EPERM", CONTROL_ELSE, false},
};

START_TEST(an_attempt_is_refused)
{
    char found[ANSWER_SIZE];
    struct broker broker = broker_start("answer");
    attempt(attempts[_i].code, RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(found, attempts[_i].answer);
    broker_stop(&broker);
    attempt(attempts[_i].code, RUN_ISOLATION_NONE, found);
    if (attempts[_i].control == CONTROL_ELSE ||
        (attempts[_i].control == CONTROL_ROOT && geteuid() != 0))
        ck_assert_str_ne(found, attempts[_i].answer);
    else
        ck_assert_str_eq(found, "ok");
}
END_TEST

START_TEST(the_options_of_clients_are_allowed)
{
    char found[ANSWER_SIZE];
    struct broker broker = broker_start("answer");
    attempt(ATTEMPT("import struct\n"
                    "    s = tcp()\n"
                    "    for level, name in ((6, 1), (6, 4), (6, 5), (6, 6), (1, 2), (1, 7), "
                    "(1, 8), (1, 9)):\n"
                    "        s.setsockopt(level, name, 1)\n"
                    "        s.getsockopt(level, name)\n"
                    "    s.setsockopt(1, 13, struct.pack('ii', 1, 1))\n"
                    "    s.settimeout(5)\n"
                    "    for name in (20, 21):\n"
                    "        s.setsockopt(1, name, struct.pack('ll', 5, 0))\n"
                    "    s.connect(('127.0.0.1', 8080))\n"
                    "    assert s.getsockopt(1, 4) == 0 and s.getsockopt(6, 11, 8)"),
            RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(found, "ok");
    broker_stop(&broker);
}
END_TEST

START_TEST(no_other_port_is_reached)
{
    char code[1024];
    char found[ANSWER_SIZE];
    uint16_t port = 0;
    int service = listen_on_machine(8, &port);
    struct broker broker = broker_start("answer");
    (void)snprintf(code, sizeof(code), ATTEMPT("tcp().connect(('127.0.0.1', %u))"), port);
    attempt(code, RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(found, landlock_knows_ports() ? "EACCES" : "ECONNREFUSED");
    attempt(code, RUN_ISOLATION_NONE, found);
    ck_assert_str_eq(found, "ok");
    broker_stop(&broker);
    close_fd(service);
}
END_TEST

/* To an address outside there is no way at all, even with the one port. */
START_TEST(no_other_address_is_reached)
{
    char found[ANSWER_SIZE];
    struct broker broker = broker_start("answer");
    attempt(ATTEMPT("tcp().connect(('192.0.2.1', 8080))"), RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(found, "ENETUNREACH");
    attempt(ATTEMPT("tcp().connect(('127.0.0.1', 8080))"), RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(found, "ok");
    broker_stop(&broker);
}
END_TEST

START_TEST(a_name_is_resolved_by_nobody)
{
    char found[ANSWER_SIZE];
    struct broker broker = broker_start("answer");
    attempt("import socket\n"
            "try:\n    print(socket.getaddrinfo('example.com', 80))\n"
            "except socket.gaierror: print('no such name')\n"
            "print(socket.getaddrinfo('127.0.0.1', 80, type=socket.SOCK_STREAM)[0][4])",
            RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(outcome.output, "no such name\n('127.0.0.1', 80)\n");
    broker_stop(&broker);
}
END_TEST

#define COUNT_SOCKETS                                                  \
    "import os, stat\n"                                                \
    "found = 0\n"                                                      \
    "for fd in range(1024):\n"                                         \
    "    try:\n        found += stat.S_ISSOCK(os.fstat(fd).st_mode)\n" \
    "    except OSError: pass\n"                                       \
    "print(found)"

/* Neither the listener nor the way on which it went; and pid 1 gives none away. */
START_TEST(nobody_inside_has_the_listener)
{
    uint16_t port = 0;
    int service = listen_on_machine(8, &port);
    struct broker broker = broker_start("answer");
    struct run_description description = describe_python(COUNT_SOCKETS);
    expect_output(&description, "0\n");
    struct running running = run_begin_with_stdin(&backend, &description, service);
    run_finish(&running, &outcome);
    ck_assert_str_eq(outcome.output, "1\n");
    char found[ANSWER_SIZE];
    attempt(ATTEMPT("os.listdir('/proc/1/fd')"), RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_ne(found, "ok");
    attempt(ATTEMPT("os.listdir('/proc/self/fd')"), RUN_ISOLATION_SANDBOX, found);
    ck_assert_str_eq(found, "ok");
    broker_stop(&broker);
}
END_TEST

START_TEST(the_namespace_has_a_loopback_alone)
{
    static const char code[] =
        "import fcntl, socket\n"
        "asking = socket.socket(socket.AF_UNIX)\n"
        "for index in range(1, 64):\n"
        "    try: name = fcntl.ioctl(asking, 0x8910, bytes(16) + index.to_bytes(4, 'little') + "
        "bytes(20))[:16]\n"
        "    except OSError: continue\n"
        "    flags = fcntl.ioctl(asking, 0x8913, name + bytes(24))[16]\n"
        "    print(name.rstrip(b'\\0').decode(), flags & 1)\n";
    struct broker broker = broker_start("answer");
    struct run_description description = describe_python(code);
    expect_output(&description, "lo 1\n");
    broker_stop(&broker);
    description.endpoints = 0;
    expect_output(&description, "lo 0\n");
}
END_TEST

int main(void)
{
    suite_begin("endpoint refusals");
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        suite_add_round(an_attempt_is_refused, (int)i, attempts[i].name,
                        attempts[i].by_landlock && !landlock_knows_ports()
                            ? "this kernel's Landlock knows no ports"
                            : NULL);
    suite_add(the_options_of_clients_are_allowed, NULL);
    suite_add(no_other_port_is_reached, NULL);
    suite_add(no_other_address_is_reached, NULL);
    suite_add(a_name_is_resolved_by_nobody, NULL);
    suite_add(nobody_inside_has_the_listener, NULL);
    suite_add(the_namespace_has_a_loopback_alone, NULL);
    return suite_end();
}
