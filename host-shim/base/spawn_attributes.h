/* SPDX-License-Identifier: Apache-2.0 */
/* How toolhost starts a program: with signals as a program expects them. Any thread. */
#pragma once

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>

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
