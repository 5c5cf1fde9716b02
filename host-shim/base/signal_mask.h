/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals that toolhost's own threads and the programs that it starts begin with. A thread
 * takes none: a handler runs where it always did. A program has them as programs expect. Any
 * thread.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>

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

/* Fills attributes that posix_spawnattr_init() made. has_group: in a process group of its own. */
static inline void spawn_attributes_set(posix_spawnattr_t *attributes, bool has_group)
{
    sigset_t none, all;
    short group = has_group ? POSIX_SPAWN_SETPGROUP : 0;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawnattr_setflags(attributes,
                                   (short)(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    (void)posix_spawnattr_setpgroup(attributes, 0);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
}
