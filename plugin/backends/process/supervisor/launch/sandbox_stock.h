/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel takes longest over when a sandbox is made for a run that waits, made while there
 * is nothing else to do: network namespaces that nobody has been in, and control groups that nobody
 * has entered. Each goes to one sandbox. None of it knows of a run or a template, so that it is
 * there without the policy's pools as well. Runs in the supervisor, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/process/supervisor/cgroup/cgroup.h"

#define STOCK_LIMIT 4 /* of each kind */

struct sandbox_stock {
    int own_network; /* the supervisor's; -1: it could not enter another one and come back */
    bool is_in_own_network;
    int networks[STOCK_LIMIT];
    size_t network_count;
    struct cgroup groups[STOCK_LIMIT];
    size_t group_count;
    uint64_t groups_made;  /* of the stock or not: their names */
    uint64_t wanted_us;    /* when a sandbox was last made for a run that waited; 0: no stock */
    bool without_networks; /* one could not be made: none until it is wanted again */
    bool without_groups;   /* likewise */
};

/* Runs at the supervisor's start. */
void sandbox_stock_open(struct sandbox_stock *ret);

/* Whether the supervisor is in its own network namespace; one that could not leave another tries
 * again. false with errno: it must start nothing, which could be meant to have the host's. */
bool sandbox_stock_is_in_own_network(struct sandbox_stock *stock);

/* A sandbox is made for a run that waits: there is a stock from now on, for a minute. */
void sandbox_stock_want(struct sandbox_stock *stock, uint64_t now);
bool sandbox_stock_is_short(const struct sandbox_stock *stock);
/* Makes one thing that is short. */
void sandbox_stock_fill(struct sandbox_stock *stock, const struct cgroup_base *cgroups);
/* Gives the stock up where it is not wanted any more. When to look again, 0: there is none. */
uint64_t sandbox_stock_expire(struct sandbox_stock *stock, uint64_t now);
void sandbox_stock_empty(struct sandbox_stock *stock);

/* A new group, which is not of the stock. */
void sandbox_stock_make_group(struct sandbox_stock *stock, const struct cgroup_base *cgroups,
                              struct cgroup *ret);
/* One of the stock, else a new one. */
void sandbox_stock_take_group(struct sandbox_stock *stock, const struct cgroup_base *cgroups,
                              struct cgroup *ret);
/* clone_sandbox(); with CLONE_NEWNET among flags the child's network namespace is one of the stock
 * where there is one. Whoever is in it has no power over it, as it belongs to no user namespace of
 * a sandbox's (user_namespaces(7)). */
pid_t sandbox_stock_clone(struct sandbox_stock *stock, unsigned long flags, int *pidfd);
