/* SPDX-License-Identifier: Apache-2.0 */
/* Listens on a Unix socket. Main thread. */
#include "mcp/wire/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"

#define BACKLOG 16

static bool somebody_answers(const struct sockaddr_un *address)
{
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

/* Only ever a socket: any other file stays, and binding fails. */
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        !somebody_answers(address))
        (void)unlink(address->sun_path);
}

/* Beside the path, so that it can be linked to it. */
static bool name_newborn(const char *path, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s.%d", path, (int)getpid());
    return length > 0 && (size_t)length < sizeof(ret->sun_path);
}

/* The path appears once the socket listens, so a client that finds it can connect. A path that
 * exists is left alone. */
bool listener_open(const char *path, struct listener *ret, struct failure *failure)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX}, newborn;
    if (!name_newborn(path, &newborn))
        return failure_usage(failure, "%s: the path is longer than a socket's may be", path);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failure_set_errno(failure, "internal", errno, "no socket");
    remove_stale(&newborn);
    remove_stale(&address);
    /* The mode of the descriptor becomes that of the file: it is never open to others. */
    if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)&newborn, sizeof(newborn)) < 0)
        return failure_set_errno(failure, "internal", errno, "cannot listen on %s", path);
    bool listens = chmod(newborn.sun_path, 0600) == 0 && listen(fd, BACKLOG) == 0 &&
                   link(newborn.sun_path, path) == 0;
    int error = errno;
    (void)unlink(newborn.sun_path);
    if (!listens) {
        (void)failure_set_errno(failure, "internal", error, "cannot listen on %s", path);
        if (error == EEXIST)
            return failure_set_hint(failure,
                                    "a running server, or a file that is not a socket, is at "
                                    "that path: stop it, or listen on another path");
    }
    ret->fd = TAKE_FD(fd);
    (void)snprintf(ret->path, sizeof(ret->path), "%s", path);
    return true;
}

int listener_accept(const struct listener *listener)
{
    CLEANUP_CLOSE int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
        (peer.uid != geteuid() && peer.uid != 0)) {
        console_log_notice("refused a client of another user");
        return -1;
    }
    return TAKE_FD(fd);
}

void listener_close(struct listener *listener)
{
    if (listener->fd < 0)
        return;
    close_fd(TAKE_FD(listener->fd));
    (void)unlink(listener->path);
}
