/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_registry with calls, cancellations and shutdowns at the same time. Threads of this test are
 * the gateway's; to be run with -Db_sanitize=thread as well.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

#include "call/call_registry.h"
#include "tap_suite.h"

#define THREADS 8
#define ROUNDS  200

static bool is_readable(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1;
}

START_TEST(the_registry_counts_and_finds)
{
    struct error error;
    struct registered_call calls[3];
    ck_assert(call_register(&calls[0], 5, &error) && call_register(&calls[1], 5, &error) &&
              call_register(&calls[2], 0, &error));
    ck_assert_uint_eq(call_count(), 3);
    ck_assert(!call_cancel(0) && !call_cancel(6));
    ck_assert(call_cancel(5) && call_cancel(5));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(atomic_load(&calls[i].cancelled), i < 2);
        ck_assert_int_eq(is_readable(calls[i].cancel_fd), i < 2);
        call_unregister(&calls[i]);
        call_unregister(&calls[i]); /* once more is harmless */
    }
    ck_assert_uint_eq(call_count(), 0);
}
END_TEST

START_TEST(no_descriptor_no_call)
{
    struct error error;
    struct registered_call call;
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool registered = call_register(&call, 5, &error);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert(!registered);
    ck_assert_int_eq(error.code, ERROR_INTERNAL);
    ck_assert_uint_eq(call_count(), 0);
    call_unregister(&call);
}
END_TEST

START_TEST(no_call_enters_during_a_shutdown)
{
    struct error error;
    struct registered_call call;
    call_cancel_all_and_wait();
    ck_assert(!call_register(&call, 5, &error));
    ck_assert_int_eq(error.code, ERROR_CANCELLED);
    call_admit_again();
    ck_assert(call_register(&call, 5, &error));
    call_unregister(&call);
}
END_TEST

static pthread_t start(void *(*function)(void *), void *user)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, function, user), 0);
    return thread;
}

static void pause_us(long microseconds)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static void *shut_down(void *unused)
{
    (void)unused;
    call_cancel_all_and_wait();
    call_admit_again();
    return NULL;
}

static void *come_and_go(void *user)
{
    atomic_bool *stop = user;
    while (!atomic_load(stop)) {
        struct error error;
        struct registered_call call;
        if (!call_register(&call, 9, &error)) {
            ck_assert_int_eq(error.code, ERROR_CANCELLED);
            continue;
        }
        while (!atomic_load(&call.cancelled) && !atomic_load(stop))
            pause_us(10);
        call_unregister(&call);
    }
    return NULL;
}

START_TEST(shutdowns_end_all_calls_whoever_comes)
{
    atomic_bool stop = false;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(come_and_go, &stop);
    for (int i = 0; i < ROUNDS; i++) {
        (void)call_cancel(9);
        pthread_t other = start(shut_down, NULL);
        call_cancel_all_and_wait();
        call_admit_again();
        (void)pthread_join(other, NULL);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_uint_eq(call_count(), 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("call_registry");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, the_registry_counts_and_finds);
    tcase_add_test(cases, no_descriptor_no_call);
    tcase_add_test(cases, no_call_enters_during_a_shutdown);
    tcase_add_test(cases, shutdowns_end_all_calls_whoever_comes);
    return run_suite("call_registry", &cases, 1);
}
