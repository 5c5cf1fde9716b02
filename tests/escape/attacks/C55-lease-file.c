/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C55
 * title: keep others from writing to a file by a lease on it
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control docker: seccomp
 * control process: seccomp
 */
#include "attack.h"

int main(void)
{
    (void)close(open("leased", O_WRONLY | O_CREAT, 0600));
    return tell(fcntl(open("leased", O_RDONLY), F_SETLEASE, F_RDLCK) == 0);
}
