/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex that is held until the end of a block. Any thread of the gateway. */
#pragma once

#include <pthread.h>

#include "base/cleanup.h"

static inline pthread_mutex_t *lock_mutex(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_lock(mutex);
    return mutex;
}

static inline void unlock_mutex(pthread_mutex_t **mutex)
{
    (void)pthread_mutex_unlock(*mutex);
}

#define HOLD_LOCK(mutex) \
    CLEANUP(unlock_mutex) __attribute__((unused)) pthread_mutex_t *held = lock_mutex(&(mutex))
