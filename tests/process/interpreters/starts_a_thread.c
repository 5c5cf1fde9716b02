/* SPDX-License-Identifier: Apache-2.0 */
/* A library that starts a thread when it is loaded, as some of linear algebra do. */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *wait_forever(void *nothing)
{
    for (;;)
        (void)pause();
    return nothing;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_forever, NULL) != 0)
        _exit(1);
}
