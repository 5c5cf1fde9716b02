/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with endpoints: what reaches their broker, and that nothing else is reached, listens or
 * opens. The same attempts without a sandbox are the controls.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "endpoint_broker.h"
#include "suite.h"

#define ANSWER_SIZE 64
#define URL         "http://127.0.0.1:8080/api/items"

static struct run_description describe_endpoints(char **argv)
{
    struct run_description description = describe(argv);
    description.endpoints = 1;
    return description;
}

static struct run_description describe_python(const char *code)
{
    static char *words[] = {NULL, NULL, NULL, NULL};
    static char program[] = "python3";
    static char option[] = "-c";
    words[0] = program;
    words[1] = option;
    words[2] = (char *)(uintptr_t)code;
    struct run_description description = describe_endpoints(words);
    description.limits.memory_bytes = UINT64_C(1) << 30;
    return description;
}

/* The machine's Landlock, as the product asks for it. */
static bool landlock_knows_ports(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 4;
}

/* --- What is allowed --- */

static const struct {
    const char *name;
    const char *program;
    char **words;
} clients[] = {
    {"curl", "curl", WORDS("curl", "-s", "-S", URL)},
    {"urllib", "python3",
     WORDS("python3", "-c",
           "import urllib.request as u; print(u.urlopen('" URL "').read().decode(), end='')")},
    {"http.client", "python3",
     WORDS("python3", "-c",
           "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080); "
           "c.request('GET', '/api/items'); print(c.getresponse().read().decode(), end='')")},
    {"asyncio", "python3",
     WORDS("python3", "-c",
           "import asyncio\n"
           "async def ask():\n"
           "    r, w = await asyncio.open_connection('127.0.0.1', 8080)\n"
           "    w.write(b'GET /api/items HTTP/1.0\\r\\n\\r\\n')\n"
           "    print((await r.read()).decode().split('\\r\\n\\r\\n')[1], end='')\n"
           "asyncio.run(ask())")},
    {"fetch", "node",
     WORDS("node", "-e",
           "fetch('" URL "').then(r => r.text()).then(t => process.stdout.write(t))")},
    {"http of node", "node",
     WORDS("node", "-e", "require('http').get('" URL "', r => r.pipe(process.stdout))")},
    {"HTTP::Tiny", "perl",
     WORDS("perl", "-MHTTP::Tiny", "-e", "print HTTP::Tiny->new->get('" URL "')->{content}")},
    {"bash", "bash",
     WORDS("bash", "-c",
           "exec 3<>/dev/tcp/127.0.0.1/8080; printf 'GET /api/items HTTP/1.0\\r\\n\\r\\n' >&3; "
           "tail -n 1 <&3")},
};

START_TEST(a_client_gets_its_answer)
{
    struct broker broker = broker_start("answer");
    struct run_description description = describe_endpoints(clients[_i].words);
    description.limits.memory_bytes = UINT64_C(1) << 30;
    expect_output(&description, "answer /api/items\n");
    broker_stop(&broker);
}
END_TEST

START_TEST(requests_get_their_answers)
{
    struct broker broker = broker_start("answer");
    struct run_description description =
        describe_python("import requests; print(requests.get('" URL "').text, end='')");
    expect_output(&description, "answer /api/items\n");
    broker_stop(&broker);
}
END_TEST

START_TEST(the_layer_is_reported)
{
    struct broker broker = broker_start("answer");
    struct run_description description = describe_endpoints(WORDS("true"));
    expect_output(&description, "");
    ck_assert_uint_eq(outcome.start.isolation.applied & LAYERS_MANDATORY, LAYERS_MANDATORY);
    ck_assert((outcome.start.isolation.applied & LAYER_BIT(LAYER_ENDPOINT_BROKER)) != 0);
    broker_stop(&broker);
    struct run_description other = describe(WORDS("true"));
    expect_output(&other, "");
    ck_assert(((outcome.start.isolation.applied | outcome.start.isolation.missing) &
               LAYER_BIT(LAYER_ENDPOINT_BROKER)) == 0);
}
END_TEST

/* What the broker gets, and that it gets it once. */
START_TEST(the_listener_is_on_the_loopback_port)
{
    struct broker broker = broker_of_test();
    struct run_description description = describe_endpoints(WORDS("true"));
    expect_output(&description, "");
    CLEANUP_CLOSE int listener = broker_take_listener(&broker);
    ck_assert_int_ge(listener, 0);
    struct sockaddr_in address = {.sin_port = 0};
    socklen_t length = sizeof(address);
    int listens = 0;
    socklen_t size = sizeof(listens);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ck_assert_int_eq(address.sin_family, AF_INET);
    ck_assert_int_eq(ntohs(address.sin_port), RUN_ENDPOINTS_PORT);
    ck_assert_uint_eq(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
    ck_assert_int_eq(getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
    ck_assert_int_eq(listens, 1);
    close_fd(TAKE_FD(broker.intake));
    ck_assert_int_eq(broker_take_listener(&broker), -1);
    broker_stop(&broker);
}
END_TEST

/* Nothing is ready beforehand, as the listener is one run's. */
START_TEST(each_run_has_a_new_sandbox)
{
    for (int i = 0; i < 3; i++) {
        struct broker broker = broker_start("answer");
        struct run_description description = describe_endpoints(WORDS("curl", "-s", URL));
        description.pool_size = description.pool_most = 2;
        description.pool_idle_ms = 60000;
        expect_output(&description, "answer /api/items\n");
        ck_assert_uint_eq(outcome.end.origin, SANDBOX_NEW);
        broker_stop(&broker);
    }
}
END_TEST

/* --- What is refused --- */

/* Each prints "ok" or the name of its error. */
#define PRELUDE                                                         \
    "import errno, os, socket, sys\n"                                   \
    "tcp = lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)\n" \
    "def attempt():\n    "
#define EPILOGUE                 \
    "\ntry:\n    attempt()\n"    \
    "    print('ok')\n"          \
    "except OSError as error:\n" \
    "    print(errno.errorcode[error.errno])\n"
#define ATTEMPT(code) PRELUDE code EPILOGUE

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

static void attempt(const char *code, uint32_t isolation, char ret[ANSWER_SIZE])
{
    struct run_description description = describe_python(code);
    description.isolation = isolation;
    description.endpoints = isolation == RUN_ISOLATION_SANDBOX;
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_msg(outcome.end.exit_code == 0, "exit %d: %s", outcome.end.exit_code, outcome.errors);
    size_t length = strcspn(outcome.output, "\n");
    ck_assert_uint_lt(length, ANSWER_SIZE);
    memcpy(ret, outcome.output, length);
    ret[length] = '\0';
}

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

/* A service of the machine, on the same address. */
static int listen_on_machine(int backlog, uint16_t *ret_port)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, backlog), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return listener;
}

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

/* --- More than one, and the end of the broker --- */

/* Says that it is there, and asks when it is told to. */
#define ASK_LATER                                                           \
    WORDS("python3", "-c",                                                  \
          "import sys, urllib.request as u\n"                               \
          "print('ready', flush=True)\n"                                    \
          "sys.stdin.readline()\n"                                          \
          "try:\n    print(u.urlopen('" URL "').read().decode(), end='')\n" \
          "except OSError as error: print(error.reason.strerror)")

static struct running begin_waiting(int *ret_signal)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    struct run_description description = describe_endpoints(ASK_LATER);
    struct running running = run_begin_with_stdin(&backend, &description, ends[0]);
    run_await_output(&running);
    *ret_signal = ends[1];
    return running;
}

static void let_ask(struct running *running, int signal, const char *expected)
{
    ck_assert_int_eq(write(signal, "\n", 1), 1);
    close_fd(signal);
    run_finish(running, &outcome);
    ck_assert_str_eq(outcome.output, expected);
}

START_TEST(two_runs_do_not_meet)
{
    int signals[2];
    struct broker first = broker_start("first");
    struct running one = begin_waiting(&signals[0]);
    struct broker second = broker_start("second");
    struct running two = begin_waiting(&signals[1]);
    let_ask(&two, signals[1], "ready\nsecond /api/items\n");
    let_ask(&one, signals[0], "ready\nfirst /api/items\n");
    broker_stop(&first);
    broker_stop(&second);
}
END_TEST

START_TEST(without_its_broker_a_connection_is_refused)
{
    int signal = -1;
    struct broker broker = broker_of_test();
    struct running running = begin_waiting(&signal);
    close_fd(broker_take_listener(&broker));
    let_ask(&running, signal, "ready\nConnection refused\n");
    broker_stop(&broker);
}
END_TEST

/* Nor is the port to be had by the program then. */
START_TEST(without_its_broker_nobody_listens)
{
    int signal[2];
    struct broker broker = broker_of_test();
    ck_assert_int_eq(pipe2(signal, O_CLOEXEC), 0);
    struct run_description description =
        describe_python("import sys; print('ready', flush=True); sys.stdin.readline()\n" ATTEMPT(
            "s = tcp()\n    if sys.argv[1:]: s.bind(('127.0.0.1', 8080))\n    s.listen()"));
    struct running running = run_begin_with_stdin(&backend, &description, signal[0]);
    run_await_output(&running);
    close_fd(broker_take_listener(&broker));
    let_ask(&running, signal[1], "ready\nEPERM\n");
    broker_stop(&broker);
}
END_TEST

#define CONNECT_OFTEN                                                                  \
    "import select, socket, sys\n"                                                     \
    "made = []\n"                                                                      \
    "for i in range(200):\n"                                                           \
    "    s = socket.socket(); s.setblocking(False); s.connect_ex(('127.0.0.1', %u))\n" \
    "    made.append(s)\n"                                                             \
    "writable = select.select([], made, [], 0)[1]\n"                                   \
    "print(sum(s.getsockopt(1, 4) == 0 for s in writable))"

/* The kernel keeps one more than the number. */
START_TEST(connections_that_nobody_takes_are_few)
{
    char code[1024];
    char found[ANSWER_SIZE];
    uint16_t port = 0;
    struct broker broker = broker_start("");
    (void)snprintf(code, sizeof(code), CONNECT_OFTEN, RUN_ENDPOINTS_PORT);
    attempt(code, RUN_ISOLATION_SANDBOX, found);
    ck_assert_int_ge(atoi(found), 1);
    ck_assert_int_le(atoi(found), 65);
    broker_stop(&broker);
    int service = listen_on_machine(1024, &port);
    (void)snprintf(code, sizeof(code), CONNECT_OFTEN, port);
    attempt(code, RUN_ISOLATION_NONE, found);
    ck_assert_str_eq(found, "200");
    close_fd(service);
}
END_TEST

/* --- Runs that do not start --- */

static void expect_no_start(struct run_description *description, uint32_t failure)
{
    run(&backend, description, &outcome);
    ck_assert(!outcome.started);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_uint_eq(outcome.end.failure, failure);
}

START_TEST(without_a_broker_nothing_starts)
{
    struct run_description description = describe_endpoints(WORDS("echo", "hi"));
    expect_no_start(&description, RUN_FAILURE_DESCRIPTION);
    struct broker broker = broker_of_test();
    close_fd(TAKE_FD(broker.own));
    expect_no_start(&description, RUN_FAILURE_LAYER);
    ck_assert_uint_eq(outcome.end.failed_layer, LAYER_ENDPOINT_BROKER);
    broker_stop(&broker);
    broker = broker_start("answer");
    expect_output(&description, "hi\n");
    broker_stop(&broker);
}
END_TEST

START_TEST(where_the_port_is_not_its_own_nothing_starts)
{
    struct broker broker = broker_start("answer");
    for (uint32_t isolation = RUN_ISOLATION_NONE; isolation < RUN_ISOLATION_COUNT; isolation++) {
        struct run_description description = describe_endpoints(WORDS("echo", "hi"));
        description.isolation = isolation;
        description.network = isolation == RUN_ISOLATION_SANDBOX;
        expect_no_start(&description, RUN_FAILURE_DESCRIPTION);
    }
    broker_stop(&broker);
}
END_TEST

START_TEST(a_trial_has_the_layer_and_no_broker)
{
    struct run_description description = describe_endpoints(WORDS("true"));
    description.purpose = RUN_PURPOSE_TRIAL;
    run(&backend, &description, &outcome);
    ck_assert_uint_eq(outcome.end.failure, RUN_FAILURE_NONE);
    ck_assert((outcome.end.isolation.applied & LAYER_BIT(LAYER_ENDPOINT_BROKER)) != 0);
}
END_TEST

static void add_rounds(void)
{
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        suite_add_round(a_client_gets_its_answer, (int)i, clients[i].name,
                        lacks_program(clients[i].program));
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        suite_add_round(an_attempt_is_refused, (int)i, attempts[i].name,
                        attempts[i].by_landlock && !landlock_knows_ports()
                            ? "this kernel's Landlock knows no ports"
                            : NULL);
}

int main(void)
{
    suite_begin("endpoints");
    add_rounds();
    suite_add(requests_get_their_answers,
              access("/usr/lib/python3/dist-packages/requests", F_OK) == 0
                  ? NULL
                  : "python3-requests is not installed");
    suite_add(the_layer_is_reported, NULL);
    suite_add(the_listener_is_on_the_loopback_port, NULL);
    suite_add(each_run_has_a_new_sandbox, lacks_program("curl"));
    suite_add(the_options_of_clients_are_allowed, NULL);
    suite_add(no_other_port_is_reached, NULL);
    suite_add(no_other_address_is_reached, NULL);
    suite_add(a_name_is_resolved_by_nobody, NULL);
    suite_add(nobody_inside_has_the_listener, NULL);
    suite_add(the_namespace_has_a_loopback_alone, NULL);
    suite_add(two_runs_do_not_meet, NULL);
    suite_add(without_its_broker_a_connection_is_refused, NULL);
    suite_add(without_its_broker_nobody_listens, NULL);
    suite_add(connections_that_nobody_takes_are_few, NULL);
    suite_add(without_a_broker_nothing_starts, NULL);
    suite_add(where_the_port_is_not_its_own_nothing_starts, NULL);
    suite_add(a_trial_has_the_layer_and_no_broker, NULL);
    return suite_end();
}
