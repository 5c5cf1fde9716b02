/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for the host's processes: the token is in its environment, in its memory at the address
 * that it tells, and in the file that it was given open. Dies with the test. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)printf("%lu\n", (unsigned long)getenv("CANARY"));
    (void)fflush(stdout);
    for (;;)
        pause();
}
