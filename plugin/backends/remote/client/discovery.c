/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look-up of workers: see discovery.h. Runs in code-execute-remote. */
#include "backends/remote/client/discovery.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trusted_file.h"

#define AGAIN_MS      30000 /* for a file too: inotify sees no change on a network file system */
#define AGAIN_SOON_MS 2000  /* after a failure */
#define SETTLE_MS     50    /* a file is written in several steps */
#define FILE_CHANGES \
    (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB)

static void tell(struct discovery *discovery)
{
    discovery->known = true;
    discovery->changed(discovery->user);
}

static void look_again(struct discovery *discovery, uint64_t milliseconds)
{
    event_loop_after(discovery->loop, &discovery->again, milliseconds);
}

static void refuse_line(struct discovery *discovery, int line)
{
    error_set(&discovery->error, ERROR_BACKEND_UNAVAILABLE,
              "workers file %.150s: line %d is not \"NAME HOST:PORT\"",
              discovery->options->discover_file, line);
}

/* false with discovery->error, and the workers are those from before. */
static bool read_file(struct discovery *discovery)
{
    CLEANUP_CLOSE int fd = trusted_file_open("workers file", discovery->options->discover_file,
                                             ERROR_BACKEND_UNAVAILABLE, &discovery->error);
    CLEANUP_FREE char *text = malloc(DISCOVERY_FILE_LIMIT + 1);
    CLEANUP_FREE struct remote_place *places = calloc(REMOTE_WORKERS_MOST, sizeof(*places));
    if (fd < 0)
        return false;
    ssize_t length = text && places ? trusted_file_read(fd, text, DISCOVERY_FILE_LIMIT + 1) : -1;
    if (length < 0 || length > DISCOVERY_FILE_LIMIT) {
        error_set(&discovery->error, ERROR_BACKEND_UNAVAILABLE,
                  "workers file %.150s: cannot be read, or is longer than %d bytes",
                  discovery->options->discover_file, DISCOVERY_FILE_LIMIT);
        return false;
    }
    int line;
    text[length] = '\0';
    int count = discovery_parse(text, places, &line);
    if (count < 0) {
        refuse_line(discovery, line);
        return false;
    }
    memcpy(discovery->places, places, (size_t)count * sizeof(*places));
    discovery->count = (size_t)count;
    discovery->error.message[0] = '\0';
    return true;
}

static void file_due(struct timer *timer)
{
    struct discovery *discovery = CONTAINER_OF(timer, struct discovery, again);
    look_again(discovery, read_file(discovery) ? AGAIN_MS : AGAIN_SOON_MS);
    tell(discovery);
}

/* Any event in the directory counts, whatever its name: the file may be a link whose target
 * changes, as in a volume of a ConfigMap. */
static void file_changed(struct watch *watch, uint32_t events __attribute__((unused)))
{
    struct discovery *discovery = CONTAINER_OF(watch, struct discovery, watch);
    char buffer[4096];
    while (read(watch->fd, buffer, sizeof(buffer)) > 0)
        continue;
    look_again(discovery, SETTLE_MS);
}

static void watch_directory(struct discovery *discovery)
{
    CLEANUP_FREE char *directory = strdup(discovery->options->discover_file);
    CLEANUP_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (!directory || fd < 0)
        return;
    char *slash = strrchr(directory, '/');
    slash[slash == directory] = '\0';
    if (inotify_add_watch(fd, directory, FILE_CHANGES) < 0)
        return;
    discovery->watch = (struct watch){.fd = fd, .ready = file_changed};
    if (event_loop_watch(discovery->loop, &discovery->watch, EPOLLIN) == 0)
        (void)TAKE_FD(fd);
    else
        discovery->watch.fd = -1;
}

static bool take_address(struct discovery *discovery, const struct sockaddr *address,
                         socklen_t length)
{
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    struct remote_place *place = &discovery->places[discovery->count];
    if (discovery->count == REMOTE_WORKERS_MOST ||
        getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    (void)snprintf(place->name, sizeof(place->name), "%s", discovery->options->discover_name);
    int written = snprintf(place->address, sizeof(place->address),
                           strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    discovery->count += written > 0 && (size_t)written < sizeof(place->address);
    return true;
}

static void resolved(struct question *question, const struct resolved *answer)
{
    struct discovery *discovery = CONTAINER_OF(question, struct discovery, question);
    if (answer->count == 0) {
        error_set(&discovery->error, ERROR_BACKEND_UNAVAILABLE, "no address of %.150s is found: %s",
                  discovery->options->discover_dns, answer->reason);
    } else {
        discovery->count = 0;
        discovery->error.message[0] = '\0';
        for (uint32_t i = 0; i < answer->count; i++)
            (void)take_address(discovery, (const void *)&answer->addresses[i].address,
                               answer->addresses[i].length);
    }
    look_again(discovery, answer->count > 0 ? AGAIN_MS : AGAIN_SOON_MS);
    tell(discovery);
}

static void name_due(struct timer *timer)
{
    struct discovery *discovery = CONTAINER_OF(timer, struct discovery, again);
    struct remote_address address;
    discovery->question.answered = resolved;
    if (remote_address_parse(discovery->options->discover_dns, &address) &&
        resolver_ask(discovery->resolver, &discovery->question, &address))
        return;
    error_set(&discovery->error, ERROR_BACKEND_UNAVAILABLE, "no address can be looked up");
    look_again(discovery, AGAIN_SOON_MS);
    tell(discovery);
}

void discovery_begin(struct discovery *discovery)
{
    char *const *lines = discovery->options->workers;
    discovery->watch.fd = -1;
    if (discovery->options->discover_file[0] != '\0') {
        watch_directory(discovery);
        discovery->again.fire = file_due;
        file_due(&discovery->again);
        return;
    }
    if (discovery->options->discover_dns[0] != '\0') {
        discovery->again.fire = name_due;
        look_again(discovery, 0);
        return;
    }
    for (size_t i = 0; lines && lines[i]; i++)
        if (discovery->count < REMOTE_WORKERS_MOST)
            discovery->count += remote_place_parse(lines[i], &discovery->places[discovery->count]);
    tell(discovery);
}

void discovery_end(struct discovery *discovery)
{
    int fd = discovery->watch.fd;
    event_loop_unwatch(discovery->loop, &discovery->watch);
    close_fd(fd);
    event_loop_cancel(discovery->loop, &discovery->again);
    resolver_forget(&discovery->question);
}
