/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: D62
 * title: have memory that is in no process's count
 * backends: unprivileged
 * expect: completed exit
 * layers: seccomp
 * evidence: proof
 * control process: seccomp
 */
#include "attack.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define BYTES (1 << 20)

static int in_memory_file(void)
{
    return ftruncate(memfd_create("kept", 0), BYTES) == 0;
}

/* What is given up stays. */
static int in_shared_memory(void)
{
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    memory[0] = 1;
    (void)madvise(memory, BYTES, MADV_DONTNEED);
    return memory[0] == 1;
}

/* So does a page that nobody has mapped. */
static int in_pipe(void)
{
    int ends[2];
    char byte = 0;
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 1;
    const struct iovec page = {.iov_base = memory, .iov_len = 4096};
    if (pipe(ends) < 0 || vmsplice(ends[1], &page, 1, 0) < 0)
        return 0;
    (void)munmap(memory, BYTES);
    return read(ends[0], &byte, 1) == 1 && byte == 1;
}

static int in_socket(void)
{
    int pair[2];
    int before = 0;
    int after = 0;
    int wanted = BYTES;
    socklen_t size = sizeof(before);
    (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    (void)getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &before, &size);
    (void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
    (void)getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &after, &size);
    return after > before;
}

static int in_rules(void)
{
    const unsigned long files = 1;
    struct {
        unsigned long allowed;
        int parent;
    } __attribute__((packed)) rule = {.allowed = 1, .parent = open(".", O_PATH)};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &files, sizeof(files), 0);
    return syscall(SYS_landlock_add_rule, rules, 1, &rule, 0) == 0;
}

int main(void)
{
    return tell(in_memory_file() | in_shared_memory() | in_pipe() | in_socket() | in_rules());
}
