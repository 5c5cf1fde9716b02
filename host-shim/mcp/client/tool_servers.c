/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers' thread, and the calls between it and the threads that are inside tool_invoke(). A
 * link is the thread's alone; calls and lists of tools are under the lock. The provider is never
 * called with the lock held.
 */
#include "mcp/client/tool_servers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/deadline.h"
#include "base/event.h"
#include "base/json.h"
#include "base/signal_mask.h"
#include "mcp/client/server_config.h"
#include "mcp/client/server_link.h"
#include "mcp/client/tool_definitions.h"
#include "mcp/client/tool_order.h"
#include "mcp/client/tool_reply.h"

#define MOST_ORDERS   1024u
#define CLOSED_MS     400 /* from the end of its input a server has so long until SIGTERM, */
#define TERMINATED_MS 300 /* and from then on until SIGKILL */

struct tool_servers {
    struct server_configs configs;
    struct link_listener listener;
    struct server_link links[SERVER_CONFIGS]; /* of the thread */
    json_t *own;                              /* names of the provider's tools */
    tool_reply_call_fn reply;
    int wake_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    /* Under the lock. */
    json_t *lists[SERVER_CONFIGS]; /* NULL: the server has not told of its tools */
    bool settled[SERVER_CONFIGS];  /* it has, or it has failed */
    uint64_t list_count;           /* how often a list has come */
    int changed_fd;                /* is told so; -1: nobody is */
    bool wants_start;              /* of those that have not */
    struct tool_order *orders;
    size_t order_count;
    bool ending;
};

static void lock(struct tool_servers *servers)
{
    (void)pthread_mutex_lock(&servers->lock);
}

static void unlock(struct tool_servers *servers)
{
    (void)pthread_mutex_unlock(&servers->lock);
}

static size_t place_of(const struct tool_servers *servers, const struct server_link *link)
{
    return (size_t)(link - servers->links);
}

static const char *name_of(const struct tool_servers *servers, const struct tool_order *order)
{
    return servers->configs.list[order->server].name;
}

static void on_answer(void *user, struct server_link *link, json_int_t number,
                      const json_t *message, const char *why)
{
    struct tool_servers *servers = user;
    lock(servers);
    struct tool_order *order = servers->orders;
    while (order && (order->server != place_of(servers, link) || order->number != number))
        order = order->next;
    if (order && !order->reply && message)
        order->reply = tool_reply_text(message);
    else if (order && !message)
        tool_order_fail(order, "the answer of tool server %s cannot be used: %s",
                        link->config->name, why);
    unlock(servers);
}

static void settle(struct tool_servers *servers, const struct server_link *link)
{
    servers->settled[place_of(servers, link)] = true;
    (void)pthread_cond_broadcast(&servers->changed);
}

static void on_list(void *user, struct server_link *link, json_t *definitions)
{
    struct tool_servers *servers = user;
    lock(servers);
    json_decref(servers->lists[place_of(servers, link)]);
    servers->lists[place_of(servers, link)] = definitions;
    servers->list_count++;
    if (servers->changed_fd >= 0)
        event_set(servers->changed_fd);
    settle(servers, link);
    unlock(servers);
}

static void on_loss(void *user, struct server_link *link, const char *why)
{
    struct tool_servers *servers = user;
    lock(servers);
    for (struct tool_order *order = servers->orders; order; order = order->next)
        if (order->server == place_of(servers, link))
            tool_order_fail(order, "tool server %s: %s", link->config->name, why);
    settle(servers, link);
    unlock(servers);
}

/* Under the lock. */
static void send_order(struct tool_servers *servers, struct tool_order *order)
{
    struct server_link *link = &servers->links[order->server];
    char why[512];
    if (link->state == LINK_DOWN && !link_start(link, why, sizeof(why)))
        tool_order_fail(order, "tool server %s cannot be used: %s", link->config->name, why);
    if (link->state != LINK_READY)
        return;
    order->number = link_call(link, order->tool, order->arguments);
    if (order->number == 0)
        tool_order_fail(order, "tool server %s does not keep up with its calls",
                        link->config->name);
}

/* Under the lock. */
static void tend_order(struct tool_servers *servers, struct tool_order *order, uint64_t now)
{
    struct server_link *link = &servers->links[order->server];
    bool expired = !order->reply && now >= order->deadline;
    if (expired)
        tool_order_fail(order, "tool server %s has not answered in time", name_of(servers, order));
    if (order->number > 0 && (expired || (order->cancelled && !order->reply)))
        link_cancel(link, order->number, expired ? "out of time" : "the call was cancelled");
    if (!order->reply && !order->cancelled && order->number == 0)
        send_order(servers, order);
}

/* Under the lock: takes those that are over off the list. *ret_next: when there is more to do. */
static struct tool_order *tend_orders(struct tool_servers *servers, uint64_t *ret_next)
{
    struct tool_order *over = NULL;
    uint64_t now = monotonic_ms();
    for (struct tool_order **link = &servers->orders; *link;) {
        struct tool_order *order = *link;
        tend_order(servers, order, now);
        if (!order->reply && !order->cancelled) {
            if (*ret_next == 0 || order->deadline < *ret_next)
                *ret_next = order->deadline;
            link = &order->next;
            continue;
        }
        *link = order->next;
        order->next = over;
        over = order;
        servers->order_count--;
    }
    return over;
}

/* A reply that the provider does not take is its program's error, which the provider reports. */
static void deliver(const struct tool_servers *servers, struct tool_order *over)
{
    while (over) {
        struct tool_order *next = over->next;
        if (!over->cancelled)
            (void)servers->reply(over->token, over->reply, strlen(over->reply));
        tool_order_free(over);
        over = next;
    }
}

static void start_missing(struct tool_servers *servers)
{
    for (size_t i = 0; i < servers->configs.count; i++) {
        struct server_link *link = &servers->links[i];
        char why[512];
        if (!servers->lists[i] && link->state == LINK_DOWN && !link_start(link, why, sizeof(why)))
            settle(servers, link);
    }
    servers->wants_start = false;
}

static int timeout_until(uint64_t next)
{
    return next == 0 ? -1 : deadline_poll_timeout(next);
}

static void sooner(uint64_t *next, uint64_t other)
{
    if (other > 0 && (*next == 0 || other < *next))
        *next = other;
}

/* Waits for what the servers do, and serves it. */
static void serve_links(struct tool_servers *servers, uint64_t next)
{
    struct pollfd events[1 + SERVER_CONFIGS * LINK_EVENTS];
    size_t count = servers->configs.count;
    events[0] = (struct pollfd){.fd = servers->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < count; i++)
        link_fill_events(&servers->links[i], events + 1 + i * LINK_EVENTS);
    if (poll(events, 1 + count * LINK_EVENTS, timeout_until(next)) <= 0)
        return;
    if (events[0].revents)
        event_clear(servers->wake_fd);
    for (size_t i = 0; i < count; i++)
        link_serve(&servers->links[i], events + 1 + i * LINK_EVENTS);
}

static bool any_is_up(const struct tool_servers *servers)
{
    for (size_t i = 0; i < servers->configs.count; i++)
        if (servers->links[i].state != LINK_DOWN)
            return true;
    return false;
}

static void serve_until(struct tool_servers *servers, uint64_t deadline)
{
    while (any_is_up(servers) && monotonic_ms() < deadline)
        serve_links(servers, deadline);
}

/* First by the end of their input, then by signals. What they write to the log is read. */
static void end_links(struct tool_servers *servers)
{
    for (size_t i = 0; i < servers->configs.count; i++)
        link_begin_end(&servers->links[i]);
    serve_until(servers, monotonic_ms() + CLOSED_MS);
    for (size_t i = 0; i < servers->configs.count; i++)
        server_process_signal(&servers->links[i].process, SIGTERM);
    serve_until(servers, monotonic_ms() + TERMINATED_MS);
    for (size_t i = 0; i < servers->configs.count; i++)
        link_clear(&servers->links[i]);
}

static void *run_servers(void *argument)
{
    struct tool_servers *servers = argument;
    for (bool ends = false; !ends;) {
        uint64_t next = 0;
        for (size_t i = 0; i < servers->configs.count; i++)
            sooner(&next, link_tend(&servers->links[i]));
        lock(servers);
        if (servers->wants_start)
            start_missing(servers);
        struct tool_order *over = tend_orders(servers, &next);
        ends = servers->ending;
        unlock(servers);
        deliver(servers, over);
        if (!ends)
            serve_links(servers, next);
    }
    end_links(servers);
    return NULL;
}

/* The names and aliases of the tools of a manifest; new. */
static json_t *names_of(const char *manifest_json)
{
    json_auto_t *manifest = provider_json_read(manifest_json);
    json_t *names = json_array();
    size_t i = 0;
    size_t j = 0;
    const json_t *tool = NULL;
    json_t *alias = NULL;
    json_array_foreach(json_object_get(manifest, "tools"), i, tool)
    {
        (void)json_array_append(names, json_object_get(tool, "name"));
        json_array_foreach(json_object_get(tool, "aliases"), j, alias)(void)
            json_array_append(names, alias);
    }
    return names;
}

static void free_servers(struct tool_servers *servers)
{
    while (servers->orders) {
        struct tool_order *next = servers->orders->next;
        tool_order_free(servers->orders);
        servers->orders = next;
    }
    for (size_t i = 0; i < servers->configs.count; i++)
        json_decref(servers->lists[i]);
    server_configs_clear(&servers->configs);
    json_decref(servers->own);
    close_fd(servers->wake_fd);
    (void)pthread_mutex_destroy(&servers->lock);
    (void)pthread_cond_destroy(&servers->changed);
    free(servers);
}

static bool start_thread(struct tool_servers *servers, const char *path, struct failure *failure)
{
    if (!server_configs_read(path, &servers->configs, failure))
        return false;
    for (size_t i = 0; i < servers->configs.count; i++)
        link_init(&servers->links[i], &servers->configs.list[i], &servers->listener, servers->own);
    servers->wants_start = true;
    int error = servers->own && servers->wake_fd >= 0
                    ? thread_start_without_signals(&servers->thread, run_servers, servers)
                    : ENOMEM;
    return error == 0 ||
           failure_set_errno(failure, "internal", error, "cannot serve the servers of tools");
}

struct tool_servers *tool_servers_start(const char *path, const char *manifest_json,
                                        tool_reply_call_fn reply, struct failure *failure)
{
    if (getenv(SERVER_PROCESS_MARK)) {
        (void)failure_set(failure, "recursive_tools",
                          "this toolhost is itself a server of another one's --tools-from");
        failure_set_hint(failure, "start it without --tools-from there");
        return NULL;
    }
    struct tool_servers *servers = calloc(1, sizeof(*servers));
    if (!servers) {
        (void)failure_out_of_memory(failure);
        return NULL;
    }
    servers->listener = (struct link_listener){on_answer, on_list, on_loss, servers};
    servers->reply = reply;
    servers->changed_fd = -1;
    servers->own = names_of(manifest_json);
    servers->wake_fd = event_new();
    (void)pthread_mutex_init(&servers->lock, NULL);
    (void)pthread_cond_init(&servers->changed, NULL);
    if (start_thread(servers, path, failure))
        return servers;
    free_servers(servers);
    return NULL;
}

static bool all_have_settled(const struct tool_servers *servers)
{
    for (size_t i = 0; i < servers->configs.count; i++)
        if (!servers->settled[i])
            return false;
    return true;
}

void tool_servers_wait(struct tool_servers *servers, uint64_t most_ms)
{
    const struct timespec deadline = deadline_timespec(monotonic_ms() + most_ms);
    lock(servers);
    while (!all_have_settled(servers) && pthread_cond_clockwait(&servers->changed, &servers->lock,
                                                                CLOCK_MONOTONIC, &deadline) == 0)
        continue;
    unlock(servers);
}

void tool_servers_watch(struct tool_servers *servers, int changed_fd)
{
    if (!servers)
        return;
    lock(servers);
    servers->changed_fd = changed_fd;
    unlock(servers);
}

uint64_t tool_servers_count_lists(struct tool_servers *servers)
{
    lock(servers);
    uint64_t count = servers->list_count;
    unlock(servers);
    return count;
}

json_t *tool_servers_list(struct tool_servers *servers)
{
    json_t *all = json_array();
    size_t bytes = 0;
    size_t left_out = 0;
    bool wakes = false;
    lock(servers);
    for (size_t i = 0; i < servers->configs.count; i++) {
        left_out += tool_definitions_join(all, servers->lists[i], &bytes);
        wakes = wakes || (!servers->lists[i] && servers->settled[i]);
    }
    servers->wants_start = servers->wants_start || wakes;
    unlock(servers);
    if (wakes)
        event_set(servers->wake_fd);
    if (left_out > 0)
        console_log_notice("tool servers: there are more tools than a provider takes, and the "
                           "last are left out; name fewer in \"tools\"");
    return all;
}

/* Under the lock: to a server that has told of that tool. */
static bool add_order(struct tool_servers *servers, struct tool_order *order)
{
    size_t length = (size_t)(order->tool - 1 - order->name);
    for (size_t i = 0; i < servers->configs.count; i++) {
        const char *name = servers->configs.list[i].name;
        if (strlen(name) != length || strncmp(name, order->name, length) != 0)
            continue;
        if (!tool_definitions_have(servers->lists[i], order->name))
            return false;
        struct tool_order **end = &servers->orders;
        while (*end)
            end = &(*end)->next;
        order->server = i;
        *end = order;
        servers->order_count++;
        return true;
    }
    return false;
}

void tool_servers_call(struct tool_servers *servers, uint64_t token, const char *call_json,
                       uint32_t *verdict)
{
    struct tool_order *order = tool_order_new(token, call_json);
    if (!order)
        return;
    lock(servers);
    bool taken =
        !servers->ending && servers->order_count < MOST_ORDERS && add_order(servers, order);
    unlock(servers);
    if (!taken) {
        tool_order_free(order);
        return;
    }
    *verdict = TOOL_VERDICT_LATER;
    event_set(servers->wake_fd);
}

void tool_servers_cancel(struct tool_servers *servers, uint64_t token)
{
    lock(servers);
    for (struct tool_order *order = servers->orders; order; order = order->next)
        if (order->token == token)
            order->cancelled = true;
    unlock(servers);
    event_set(servers->wake_fd);
}

void tool_servers_begin_end(struct tool_servers *servers)
{
    if (!servers)
        return;
    lock(servers);
    servers->ending = true;
    for (struct tool_order *order = servers->orders; order; order = order->next)
        tool_order_fail(order, "toolhost ends");
    unlock(servers);
    event_set(servers->wake_fd);
}

void tool_servers_stop(struct tool_servers *servers)
{
    if (!servers)
        return;
    tool_servers_begin_end(servers);
    (void)pthread_join(servers->thread, NULL);
    free_servers(servers);
}
