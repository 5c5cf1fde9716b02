/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the stock of what sandboxes are made of: see sandbox_stock.h. Runs in the supervisor. */
#include "backends/process/supervisor/launch/sandbox_stock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox_clone.h"
#include "base/cleanup.h"

#define KEPT_US (UINT64_C(60) * 1000000) /* since it was last wanted */

static int open_current_network(void)
{
    return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static void return_to_own_network(struct sandbox_stock *stock)
{
    stock->is_in_own_network = setns(stock->own_network, CLONE_NEWNET) == 0;
}

bool sandbox_stock_is_in_own_network(struct sandbox_stock *stock)
{
    if (!stock->is_in_own_network)
        return_to_own_network(stock);
    return stock->is_in_own_network;
}

void sandbox_stock_open(struct sandbox_stock *ret)
{
    *ret = (struct sandbox_stock){.own_network = -1, .is_in_own_network = true};
    if (geteuid() != 0)
        return;
    CLEANUP_CLOSE int own = open_current_network();
    if (own >= 0 && setns(own, CLONE_NEWNET) == 0)
        ret->own_network = TAKE_FD(own);
}

void sandbox_stock_want(struct sandbox_stock *stock, uint64_t now)
{
    stock->wanted_us = now;
    stock->without_networks = stock->own_network < 0;
    stock->without_groups = false;
}

static bool lacks_networks(const struct sandbox_stock *stock)
{
    return !stock->without_networks && stock->network_count < STOCK_LIMIT;
}

static bool lacks_groups(const struct sandbox_stock *stock)
{
    return !stock->without_groups && stock->group_count < STOCK_LIMIT;
}

bool sandbox_stock_is_short(const struct sandbox_stock *stock)
{
    return stock->wanted_us != 0 && (lacks_networks(stock) || lacks_groups(stock));
}

static bool add_network(struct sandbox_stock *stock)
{
    if (unshare(CLONE_NEWNET) < 0)
        return false;
    int network = open_current_network();
    return_to_own_network(stock);
    if (network < 0)
        return false;
    stock->networks[stock->network_count++] = network;
    return true;
}

void sandbox_stock_make_group(struct sandbox_stock *stock, const struct cgroup_base *cgroups,
                              struct cgroup *ret)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%" PRIu64, ++stock->groups_made);
    cgroup_create(cgroups, name, ret);
}

static bool add_group(struct sandbox_stock *stock, const struct cgroup_base *cgroups)
{
    struct cgroup *group = &stock->groups[stock->group_count];
    sandbox_stock_make_group(stock, cgroups, group);
    if (group->has_memory && group->has_pids) {
        stock->group_count++;
        return true;
    }
    (void)cgroup_remove(group);
    return false;
}

static void give_up_networks(struct sandbox_stock *stock)
{
    while (stock->network_count > 0)
        close_fd(stock->networks[--stock->network_count]);
    stock->without_networks = true;
}

static void give_up_groups(struct sandbox_stock *stock)
{
    while (stock->group_count > 0)
        (void)cgroup_remove(&stock->groups[--stock->group_count]);
    stock->without_groups = true;
}

void sandbox_stock_fill(struct sandbox_stock *stock, const struct cgroup_base *cgroups)
{
    if (lacks_networks(stock)) {
        if (!sandbox_stock_is_in_own_network(stock) || !add_network(stock))
            give_up_networks(stock);
        return;
    }
    if (!add_group(stock, cgroups))
        give_up_groups(stock);
}

void sandbox_stock_empty(struct sandbox_stock *stock)
{
    give_up_networks(stock);
    give_up_groups(stock);
    stock->wanted_us = 0;
}

uint64_t sandbox_stock_expire(struct sandbox_stock *stock, uint64_t now)
{
    if (stock->wanted_us == 0)
        return 0;
    if (now < stock->wanted_us + KEPT_US)
        return stock->wanted_us + KEPT_US;
    sandbox_stock_empty(stock);
    return 0;
}

void sandbox_stock_take_group(struct sandbox_stock *stock, const struct cgroup_base *cgroups,
                              struct cgroup *ret)
{
    if (stock->group_count > 0)
        *ret = stock->groups[--stock->group_count];
    else
        sandbox_stock_make_group(stock, cgroups, ret);
}

pid_t sandbox_stock_clone(struct sandbox_stock *stock, unsigned long flags, int *pidfd)
{
    if (!(flags & CLONE_NEWNET) || stock->network_count == 0)
        return clone_sandbox(flags, pidfd);
    CLEANUP_CLOSE int network = stock->networks[--stock->network_count];
    if (setns(network, CLONE_NEWNET) < 0)
        return clone_sandbox(flags, pidfd);
    pid_t pid = clone_sandbox(flags & ~(unsigned long)CLONE_NEWNET, pidfd);
    int error = errno;
    if (pid != 0)
        return_to_own_network(stock);
    errno = error;
    return pid;
}
