/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint_runs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct run_description describe_endpoints(char **argv)
{
    struct run_description description = describe(argv);
    description.endpoints = 1;
    return description;
}

struct run_description describe_python(const char *code)
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

bool landlock_knows_ports(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 4;
}

void attempt(const char *code, uint32_t isolation, char ret_answer[ANSWER_SIZE])
{
    struct run_description description = describe_python(code);
    description.isolation = isolation;
    description.endpoints = isolation == RUN_ISOLATION_SANDBOX;
    run(&backend, &description, &outcome);
    expect_cause(&outcome, RUN_CAUSE_EXIT);
    ck_assert_msg(outcome.end.exit_code == 0, "exit %d: %s", outcome.end.exit_code, outcome.errors);
    size_t length = strcspn(outcome.output, "\n");
    ck_assert_uint_lt(length, ANSWER_SIZE);
    memcpy(ret_answer, outcome.output, length);
    ret_answer[length] = '\0';
}

int listen_on_machine(int backlog, uint16_t *ret_port)
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
