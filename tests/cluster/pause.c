// SPDX-License-Identifier: Apache-2.0
// First process of a pod's sandbox in a cluster for tests: holds the pod's namespaces until it is
// told to end. Nothing else runs in its container, which has no other file.

#include <signal.h>
#include <unistd.h>

static void end(int number)
{
    (void)number;
    _exit(0);
}

int main(void)
{
    struct sigaction action = {.sa_handler = end};
    if (sigaction(SIGTERM, &action, NULL) < 0 || sigaction(SIGINT, &action, NULL) < 0) {
        return 1;
    }
    for (;;) {
        pause();
    }
}
