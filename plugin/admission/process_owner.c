/* SPDX-License-Identifier: Apache-2.0 */
/* The mark of the owning process. Runs in the gateway, on any thread. */
#include "admission/process_owner.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* 0: a child that has not entered yet. -token: a thread makes the state its process's own. */
static atomic_int fallback_mark;
static atomic_int *mark = &fallback_mark;
static size_t page_bytes; /* 0: no page, or one that the kernel does not empty in a child */

/* Where the kernel empties no page, processes are told apart by their number. */
static int own_token(void)
{
    return page_bytes > 0 ? 1 : (int)getpid();
}

__attribute__((constructor)) static void take_ownership(void)
{
    size_t length = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, length, MADV_WIPEONFORK) == 0) {
        mark = page;
        page_bytes = length;
    } else if (page != MAP_FAILED) {
        (void)munmap(page, length);
    }
    atomic_store(mark, own_token());
}

void process_owner_enter(void (*start_anew)(void))
{
    int token = own_token();
    int owner = atomic_load(mark);
    while (owner != token) {
        if (owner == -token) {
            (void)sched_yield();
            owner = atomic_load(mark);
        } else if (atomic_compare_exchange_strong(mark, &owner, -token)) {
            start_anew();
            atomic_store(mark, token);
            owner = token;
        }
    }
}

void process_owner_release(void)
{
    if (page_bytes == 0)
        return;
    void *page = mark;
    mark = &fallback_mark;
    (void)munmap(page, page_bytes);
    page_bytes = 0;
}
