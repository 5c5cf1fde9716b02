/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend, in which a further interpreter of a session does not go on before its init has
 * looked at the tree and its files some times. Linked around the product's objects (-Wl,--wrap).
 * Beside a file "not-spared" the init does not know that the interpreter is still ours: the
 * control.
 */
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/process/program/supervision.h"
#include "backends/process/sandbox/sandbox.h"

#define MARK          "not-spared"
#define LOOKS         3
#define LONGEST_MS    20000
#define HELD_TOO_LONG 9

static bool is_spared = true;
static _Atomic unsigned int *looks; /* of all inits */
static bool is_watching;            /* an init; its payload is forked before, any other one later */

__attribute__((constructor)) static void prepare(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(MARK));
    void *shared =
        mmap(NULL, sizeof(*looks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (length <= 0 || shared == MAP_FAILED)
        _exit(1);
    looks = shared;
    path[length] = '\0';
    (void)strcpy(strrchr(path, '/') + 1, MARK);
    is_spared = access(path, F_OK) != 0;
}

enum run_cause __real_supervision_look(struct supervision *supervision);
enum run_cause __wrap_supervision_look(struct supervision *supervision);
enum run_cause __wrap_supervision_look(struct supervision *supervision)
{
    uint64_t before_us = supervision->next_scratch_us;
    is_watching = true;
    if (!is_spared)
        supervision->beginning = 0;
    enum run_cause exceeded = __real_supervision_look(supervision);
    if (!supervision->rests && supervision->next_scratch_us != before_us)
        ++*looks;
    return exceeded;
}

/* Until then it is as it was forked, without a domain of its own. */
static void hold(void)
{
    unsigned int first = *looks;
    for (int i = 0; *looks - first < LOOKS; i++) {
        if (i == LONGEST_MS)
            _exit(HELD_TOO_LONG);
        (void)poll(NULL, 0, 1);
    }
}

int __real_sandbox_apply(struct sandbox *sandbox, const struct step_list *list);
int __wrap_sandbox_apply(struct sandbox *sandbox, const struct step_list *list);
int __wrap_sandbox_apply(struct sandbox *sandbox, const struct step_list *list)
{
    if (is_watching && list == &sandbox->blueprint->ready)
        hold();
    return __real_sandbox_apply(sandbox, list);
}
