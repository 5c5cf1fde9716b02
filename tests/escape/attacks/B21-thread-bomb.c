/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: B21
 * title: more threads than there may be processes (100)
 * backends: docker, process
 * expect: completed exit | completed process_limit
 * layers: process limit
 * evidence: tasks
 * control docker: pids
 * control process: pids
 */
#include "attack.h"

#include <pthread.h>

static void *wait_a_while(void *nothing)
{
    (void)sleep(1);
    return nothing;
}

int main(void)
{
    pthread_t thread;
    say("TRIED");
    for (int i = 0; i < 100; i++)
        (void)pthread_create(&thread, NULL, wait_a_while, NULL);
    return (int)sleep(1);
}
