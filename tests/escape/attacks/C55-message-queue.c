/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C55
 * title: keep messages in the kernel
 * backends: process
 * expect: completed exit
 * layers: message queue limit
 * evidence: proof
 * control process: rlimit-msgqueue landlock
 * may-lack: POSIX message queues
 */
#include "attack.h"

#include <mqueue.h>

int main(void)
{
    return tell(mq_open("/queue", O_CREAT | O_RDWR, 0600, NULL) >= 0);
}
