/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with endpoints: what reaches their broker, runs beside each other, the end of the broker,
 * and runs that do not start. What such a run does not get: test_endpoint_refusals.c.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "endpoint_broker.h"
#include "endpoint_runs.h"
#include "suite.h"

#define URL "http://127.0.0.1:8080/api/items"

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
    suite_add(two_runs_do_not_meet, NULL);
    suite_add(without_its_broker_a_connection_is_refused, NULL);
    suite_add(without_its_broker_nobody_listens, NULL);
    suite_add(connections_that_nobody_takes_are_few, NULL);
    suite_add(without_a_broker_nothing_starts, NULL);
    suite_add(where_the_port_is_not_its_own_nothing_starts, NULL);
    suite_add(a_trial_has_the_layer_and_no_broker, NULL);
    return suite_end();
}
