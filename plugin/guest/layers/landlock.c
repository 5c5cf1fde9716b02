/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the ruleset: see landlock.h. The names of the kernel header are written out, as a header may
 * be older than the kernel it meets. Runs in the process that becomes a program. */
#include "guest/layers/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "protocol/run_description.h"

/* Rights on files, by bit; the comment is the ABI that brought them. */
#define EXECUTE       (UINT64_C(1) << 0) /* 1 */
#define WRITE_FILE    (UINT64_C(1) << 1)
#define READ_FILE     (UINT64_C(1) << 2)
#define READ_DIR      (UINT64_C(1) << 3)
#define REMOVE_DIR    (UINT64_C(1) << 4)
#define REMOVE_FILE   (UINT64_C(1) << 5)
#define MAKE_CHAR     (UINT64_C(1) << 6)
#define MAKE_DIR      (UINT64_C(1) << 7)
#define MAKE_REG      (UINT64_C(1) << 8)
#define MAKE_SOCK     (UINT64_C(1) << 9)
#define MAKE_FIFO     (UINT64_C(1) << 10)
#define MAKE_BLOCK    (UINT64_C(1) << 11)
#define MAKE_SYM      (UINT64_C(1) << 12)
#define FILES_OF_ABI1 ((UINT64_C(1) << 13) - 1)
#define REFER         (UINT64_C(1) << 13) /* 2 */
#define TRUNCATE      (UINT64_C(1) << 14) /* 3 */
#define IOCTL_DEV     (UINT64_C(1) << 15) /* 5 */

#define BIND_TCP    (UINT64_C(1) << 0) /* 4 */
#define CONNECT_TCP (UINT64_C(1) << 1)

#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0) /* 6 */
#define SCOPE_SIGNAL               (UINT64_C(1) << 1)

#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH      1
#define RULE_NET_PORT          2

struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

struct net_port {
    uint64_t allowed;
    uint64_t port;
};

#define RIGHTS_READ   (EXECUTE | READ_FILE | READ_DIR)
#define RIGHTS_DEVICE (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV)
#define RIGHTS_SCRATCH                                                                       \
    (RIGHTS_READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | \
     MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE)

/* Of one file there are fewer: the kernel refuses the others. */
#define RIGHTS_OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV)

static const uint64_t rights[] = {
    [LANDLOCK_READ] = RIGHTS_READ,
    [LANDLOCK_DEVICE] = RIGHTS_DEVICE,
    [LANDLOCK_READ_FILE] = READ_FILE,
    [LANDLOCK_SCRATCH] = RIGHTS_SCRATCH,
};

static const struct landlock_rule devices[] = {
    {"/dev/null", LANDLOCK_DEVICE},
    {"/dev/full", LANDLOCK_DEVICE},
    {"/dev/random", LANDLOCK_DEVICE},
    {"/dev/urandom", LANDLOCK_DEVICE},
};

static const struct landlock_rule own_view[] = {
    {"/", LANDLOCK_READ},           {"/tmp", LANDLOCK_SCRATCH},     {RUN_HOME, LANDLOCK_SCRATCH},
    {"/dev/shm", LANDLOCK_SCRATCH}, {"/dev/zero", LANDLOCK_DEVICE},
};

/* Everything this kernel can check, and how long the struct is that it knows. */
static struct ruleset ruleset_for(int abi, enum landlock_network network, size_t *ret_size)
{
    struct ruleset ruleset = {.files = FILES_OF_ABI1};
    *ret_size = sizeof(ruleset.files);
    switch (abi) {
    default:
        ruleset.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        *ret_size = sizeof(ruleset);
        __attribute__((fallthrough));
    case 5:
        ruleset.files |= IOCTL_DEV;
        __attribute__((fallthrough));
    case 4:
        ruleset.network = network == LANDLOCK_NETWORK_ALL ? 0 : BIND_TCP | CONNECT_TCP;
        if (*ret_size < offsetof(struct ruleset, scoped))
            *ret_size = offsetof(struct ruleset, scoped);
        __attribute__((fallthrough));
    case 3:
        ruleset.files |= TRUNCATE;
        __attribute__((fallthrough));
    case 2:
        ruleset.files |= REFER;
        __attribute__((fallthrough));
    case 1:
        break;
    }
    return ruleset;
}

/* mask: what the ruleset handles. */
static int add_rule(int ruleset, const struct landlock_rule *rule, uint64_t mask)
{
    struct stat status;
    CLEANUP_CLOSE int parent = open(rule->path, O_PATH | O_CLOEXEC);
    if (parent < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    if (fstat(parent, &status) < 0)
        return -1;
    if (!S_ISDIR(status.st_mode))
        mask &= RIGHTS_OF_FILES;
    struct path_beneath beneath = {.allowed = rights[rule->access] & mask, .parent = parent};
    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &beneath, 0);
}

static int add_rules(int ruleset, const struct landlock_rule *rules, size_t count, uint64_t mask)
{
    for (size_t i = 0; i < count; i++)
        if (add_rule(ruleset, &rules[i], mask) < 0)
            return -1;
    return 0;
}

int landlock_abi(void)
{
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    return abi > 0 ? abi : 0;
}

static int add_endpoints_port(int ruleset)
{
    const struct net_port rule = {.allowed = CONNECT_TCP, .port = RUN_ENDPOINTS_PORT};
    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0);
}

static int restrict_by(enum landlock_network network, const struct landlock_rule *rules,
                       size_t count)
{
    int abi = landlock_abi();
    if (abi == 0)
        return -1;
    size_t size;
    struct ruleset attributes = ruleset_for(abi, network, &size);
    CLEANUP_CLOSE int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (ruleset < 0 || add_rules(ruleset, devices, COUNT_OF(devices), attributes.files) < 0 ||
        add_rules(ruleset, rules, count, attributes.files) < 0)
        return -1;
    if (network == LANDLOCK_NETWORK_ENDPOINTS && attributes.network != 0 &&
        add_endpoints_port(ruleset) < 0)
        return -1;
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -1 : abi;
}

int landlock_restrict(enum landlock_network network)
{
    return restrict_by(network, own_view, COUNT_OF(own_view));
}

int landlock_restrict_to(const struct landlock_rule *rules, size_t count)
{
    return restrict_by(LANDLOCK_NETWORK_NONE, rules, count);
}

int landlock_restrict_files(const struct landlock_rule *rules, size_t count)
{
    return restrict_by(LANDLOCK_NETWORK_ALL, rules, count);
}

/* Each domain forbids to move a file to another directory, even one that says nothing of files: so
 * this one allows it everywhere, for a domain within it that does. */
int landlock_restrict_scope(void)
{
    static const struct ruleset attributes = {.files = REFER,
                                              .scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL};
    static const struct landlock_rule everywhere = {"/", LANDLOCK_SCRATCH};
    int abi = landlock_abi();
    if (abi < LANDLOCK_ABI_SCOPES) {
        errno = EOPNOTSUPP;
        return -1;
    }
    CLEANUP_CLOSE int ruleset =
        (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (ruleset < 0 || add_rule(ruleset, &everywhere, attributes.files) < 0)
        return -1;
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -1 : abi;
}
