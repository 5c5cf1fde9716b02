/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of toolhost's own that take no signals: a handler runs where it always did. Any thread.
 */
#pragma once

#include <pthread.h>
#include <signal.h>

/* 0, or an errno. */
static inline int thread_start_without_signals(pthread_t *ret, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(ret, NULL, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
