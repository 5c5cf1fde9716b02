/* SPDX-License-Identifier: Apache-2.0 */
/* A backend hears of its end although a child that the gateway forked has copies of its sockets. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program/backend_program.h"
#include "run/backend_client.h"
#include "tap_suite.h"

struct connection {
    int ours;
    int copy; /* the forked child's */
    int theirs;
};

static struct connection connect_backend(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    struct connection connection = {pair[0], fcntl(pair[0], F_DUPFD_CLOEXEC, 0), pair[1]};
    ck_assert_int_ge(connection.copy, 0);
    return connection;
}

static ssize_t read_backend(const struct connection *connection)
{
    char byte;
    return recv(connection->theirs, &byte, sizeof(byte), MSG_DONTWAIT);
}

static void disconnect(const struct connection *connection)
{
    (void)close(connection->copy);
    (void)close(connection->theirs);
}

START_TEST(stop_reaches_the_backend)
{
    struct connection connection = connect_backend();
    struct backend_program program = {.owner = getpid(), .control = connection.ours, .pidfd = -1};
    ck_assert_int_eq(read_backend(&connection), -1);
    backend_program_stop(&program);
    ck_assert_int_eq(read_backend(&connection), 0);
    disconnect(&connection);
}
END_TEST

START_TEST(stop_of_anothers_backend_does_not)
{
    struct connection connection = connect_backend();
    struct backend_program program = {.owner = getppid(), .control = connection.ours, .pidfd = -1};
    backend_program_stop(&program);
    ck_assert_int_eq(program.control, -1);
    ck_assert_int_eq(read_backend(&connection), -1);
    disconnect(&connection);
}
END_TEST

START_TEST(end_of_a_run_reaches_the_backend)
{
    struct connection connection = connect_backend();
    struct backend_run run = BACKEND_RUN_EMPTY;
    run.events = connection.ours;
    backend_run_close(&run);
    ck_assert_int_eq(read_backend(&connection), 0);
    disconnect(&connection);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("backend program");
    tcase_add_test(cases, stop_reaches_the_backend);
    tcase_add_test(cases, stop_of_anothers_backend_does_not);
    tcase_add_test(cases, end_of_a_run_reaches_the_backend);
    return run_suite("backend program", &cases, 1);
}
