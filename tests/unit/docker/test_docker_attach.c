/* SPDX-License-Identifier: Apache-2.0 */
/* The request for a container's stream over a connection that takes it in parts, or not at once, as
 * TLS does. What the stream does with the engine is replaced. One thread. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/container/docker_container.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static const char request[] =
    "POST /v1.43/containers/0123/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\n"
    "Host: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n";

static const ssize_t *answers; /* bytes that the connection takes, or -errno; 0: all of them */
static char sent[1024];
static size_t sent_length;
static unsigned int failures;

ssize_t engine_connection_send(struct engine_call *call, const void *bytes, size_t length)
{
    (void)call;
    ssize_t answer = *answers;
    answers += answer != 0;
    if (answer < 0) {
        errno = (int)-answer;
        return -1;
    }
    size_t count = answer == 0 || (size_t)answer > length ? length : (size_t)answer;
    ck_assert_uint_le(sent_length + count, sizeof(sent));
    memcpy(sent + sent_length, bytes, count);
    sent_length += count;
    return (ssize_t)count;
}

ssize_t engine_connection_receive(struct engine_call *call, void *bytes, size_t capacity)
{
    (void)call;
    (void)bytes;
    (void)capacity;
    errno = EAGAIN;
    return -1;
}

struct engine_call *engine_call_start(CURLM *client, const struct engine_request *engine_request)
{
    (void)client;
    (void)engine_request;
    return NULL;
}

void engine_call_cancel(struct engine_call *call)
{
    (void)call;
}

void container_fail_engine(struct container *container, const struct engine_fault *fault)
{
    (void)container;
    ck_assert_uint_ne(fault->problem, ENGINE_PROBLEM_NONE);
    failures++;
}

void container_fail(struct container *container, const char *message)
{
    (void)container;
    (void)message;
    failures++;
}

struct docker_container *docker_container(struct container *container)
{
    return (struct docker_container *)container;
}

struct docker_environment *docker_environment(struct guest_environment *guests)
{
    return (struct docker_environment *)guests;
}

int engine_connection_fd(const struct engine_call *call)
{
    (void)call;
    return -1;
}

/* A container whose connection is open and takes these numbers of bytes. */
static struct container *connected_container(const ssize_t *takes)
{
    static const struct guest_provider provider = {.name = "docker", .form = &docker_attached_form};
    static struct guest_environment environment = {.provider = &provider};
    struct docker_container *own = calloc(1, sizeof(*own));
    ck_assert_ptr_nonnull(own);
    own->api = 43;
    (void)snprintf(own->id, sizeof(own->id), "0123");
    own->connection = (struct engine_call *)own;
    struct container *container = &own->container;
    container->environment = &environment;
    container->stream.open = true;
    container->stream.connected = true;
    answers = takes;
    sent_length = 0;
    failures = 0;
    return container;
}

static void ask_until(struct container *container, unsigned int rounds)
{
    for (unsigned int i = 0; i < rounds; i++) {
        ck_assert_int_eq(container_stream_interest(container),
                         CURL_WAIT_POLLIN | CURL_WAIT_POLLOUT);
        container_stream_handle(container);
    }
    ck_assert_uint_eq(failures, 0);
    ck_assert_int_eq(container_stream_interest(container), CURL_WAIT_POLLIN);
    ck_assert_uint_eq(sent_length, sizeof(request) - 1);
    ck_assert_mem_eq(sent, request, sizeof(request) - 1);
    free(container);
}

START_TEST(at_once)
{
    ask_until(connected_container((const ssize_t[]){0}), 1);
}
END_TEST

START_TEST(not_yet)
{
    ask_until(connected_container((const ssize_t[]){-EAGAIN, -EAGAIN, 0}), 3);
}
END_TEST

START_TEST(in_parts)
{
    ask_until(connected_container((const ssize_t[]){1, 20, -EAGAIN, 7, -EAGAIN, 0}), 3);
}
END_TEST

START_TEST(not_at_all)
{
    struct container *container = connected_container((const ssize_t[]){20, -EPIPE, 0});
    container_stream_handle(container);
    ck_assert_uint_eq(failures, 1);
    ck_assert_int_eq(container_stream_interest(container), 0);
    free(container);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker attach");
    tcase_add_test(cases, at_once);
    tcase_add_test(cases, not_yet);
    tcase_add_test(cases, in_parts);
    tcase_add_test(cases, not_at_all);
    return run_suite("docker attach", &cases, 1);
}
