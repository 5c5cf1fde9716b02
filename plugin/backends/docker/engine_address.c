/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the finding of the engine: see engine_address.h. Runs in the docker backend. */
#include "engine_address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../cleanup.h"

#define PATHS_COUNT 4

/* The words that agents and operators know. */
#define NOT_INSTALLED "docker is not installed or not on PATH. "

static bool take_socket(const char *path, struct engine_address *ret)
{
    if (path[0] != '/' || strlen(path) >= sizeof(ret->socket_path))
        return false;
    (void)snprintf(ret->socket_path, sizeof(ret->socket_path), "%s", path);
    (void)snprintf(ret->base, sizeof(ret->base), "http://engine");
    return true;
}

static bool find_socket(struct engine_address *ret, struct engine_fault *fault)
{
    char paths[PATHS_COUNT][64] = {"/var/run/docker.sock", "", "/run/podman/podman.sock", ""};
    (void)snprintf(paths[1], sizeof(paths[1]), "/run/user/%u/docker.sock", geteuid());
    (void)snprintf(paths[3], sizeof(paths[3]), "/run/user/%u/podman/podman.sock", geteuid());
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (access(paths[i], F_OK) == 0)
            return take_socket(paths[i], ret);
    engine_fault_set(fault, ENGINE_PROBLEM_NOT_INSTALLED,
                     NOT_INSTALLED "No engine's socket is in any of the usual places (%s, ...)",
                     paths[0]);
    return false;
}

/* A name or number and a port, and nothing that could be a part of a URL beyond them. */
static bool take_host(const char *host, struct engine_address *ret)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]";
    if (host[0] == '\0' || host[strspn(host, allowed)] != '\0' || !strchr(host, ':'))
        return false;
    ret->socket_path[0] = '\0';
    return (size_t)snprintf(ret->base, sizeof(ret->base), "http://%s", host) < sizeof(ret->base);
}

bool engine_address_resolve(const struct run_docker *docker, struct engine_address *ret,
                            struct engine_fault *fault)
{
    const char *text = docker->host;
    if (text[0] == '\0')
        return find_socket(ret, fault);
    if (strncmp(text, "unix://", 7) == 0 && take_socket(text + 7, ret))
        return true;
    if (strncmp(text, "tcp://", 6) == 0 && take_host(text + 6, ret))
        return true;
    if (strncmp(text, "http://", 7) == 0 && take_host(text + 7, ret))
        return true;
    engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                     "the engine's address must be unix:///PATH or tcp://HOST:PORT: %.100s", text);
    return false;
}

static int try_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
}

void engine_address_diagnose(const struct engine_address *address, struct engine_fault *fault)
{
    const char *path = address->socket_path;
    if (path[0] == '\0') {
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_RUNNING, "docker is not reachable at %.100s",
                         address->base);
        return;
    }
    switch (try_socket(path)) {
    case ENOENT:
    case ENOTDIR:
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_INSTALLED, NOT_INSTALLED "There is no socket %s",
                         path);
        return;
    case ECONNREFUSED:
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_RUNNING,
                         "docker is not running: nobody listens at %s", path);
        return;
    case EACCES:
    case EPERM:
        engine_fault_set(fault, ENGINE_PROBLEM_NO_PERMISSION,
                         "no permission to use docker at %s (user id %u)", path, geteuid());
        return;
    default:
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "docker does not take the connection at %s",
                         path);
    }
}
