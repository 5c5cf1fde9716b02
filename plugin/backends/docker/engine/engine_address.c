/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the search for the engine: see engine_address.h. Runs in the docker backend. */
#include "backends/docker/engine/engine_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define PORT_PLAIN        2375
#define PORT_TLS          2376
#define PORT_LIMIT        65535
#define CERTIFICATE_LIMIT (1U << 20) /* bytes of a file */

/* Messages have the words of the docker command, because operators search for them. */
#define NOT_INSTALLED  "docker is not installed or its socket is not there: "
#define CANNOT_CONNECT "cannot connect to the Docker daemon at unix://%s"

/* How to reach an engine over TCP. */
struct transport {
    bool tls;
    const char *certificates; /* directory; "": none is configured */
};

static bool take_socket(const char *path, struct engine_address *ret, struct engine_fault *fault)
{
    if (path[0] != '/' || strlen(path) >= sizeof(ret->socket_path))
        return engine_fault_set(
            fault, ENGINE_PROBLEM_ADDRESS,
            "a socket's path must be absolute and shorter than %zu bytes: unix://%.100s",
            sizeof(ret->socket_path), path);
    *ret = (struct engine_address){.base = "http://engine"};
    (void)snprintf(ret->socket_path, sizeof(ret->socket_path), "%s", path);
    return true;
}

bool engine_address_find(const char *const *paths, size_t count, struct engine_address *ret,
                         struct engine_fault *fault)
{
    for (size_t i = 0; i < count; i++)
        if (access(paths[i], F_OK) == 0)
            return take_socket(paths[i], ret, fault);
    return engine_fault_set(fault, ENGINE_PROBLEM_NOT_INSTALLED,
                            NOT_INSTALLED CANNOT_CONNECT " or at any other usual place", paths[0]);
}

static bool find_socket(struct engine_address *ret, struct engine_fault *fault)
{
    char docker[64];
    char podman[64];
    const char *const paths[] = {"/var/run/docker.sock", docker, "/run/podman/podman.sock", podman};
    (void)snprintf(docker, sizeof(docker), "/run/user/%u/docker.sock", geteuid());
    (void)snprintf(podman, sizeof(podman), "/run/user/%u/podman/podman.sock", geteuid());
    return engine_address_find(paths, COUNT_OF(paths), ret, fault);
}

/* 0, or an errno that says why the file cannot be used. */
static int try_file(const char *directory, const char *name)
{
    char path[PATH_MAX + 16];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EINVAL;
    return status.st_size > CERTIFICATE_LIMIT ? EFBIG : 0;
}

/* Checked here, because libcurl does not say that a file is missing. */
static bool take_certificates(const char *directory, struct engine_address *address,
                              struct engine_fault *fault)
{
    static const char *const names[] = {ENGINE_CA, ENGINE_CERTIFICATE, ENGINE_KEY};
    size_t size = sizeof(address->certificates);
    if (directory[0] != '/' ||
        (size_t)snprintf(address->certificates, size, "%s", directory) >= size)
        return engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                                "TLS needs a directory with " ENGINE_CA ", but none is configured");
    address->client_certificate = try_file(directory, ENGINE_CERTIFICATE) != ENOENT ||
                                  try_file(directory, ENGINE_KEY) != ENOENT;
    for (size_t i = 0; i < (address->client_certificate ? COUNT_OF(names) : 1); i++) {
        int reason = try_file(directory, names[i]);
        if (reason != 0)
            return engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                                    "TLS needs the file %.120s/%s: %s", directory, names[i],
                                    strerror(reason));
    }
    return true;
}

/* "name", "name:port", "[address]:port": the host without brackets, the port 0 where none is given.
 * No other part of a URL passes. */
static bool split_host(const char *text, char ret_host[DOCKER_HOST_LIMIT + 1],
                       unsigned int *ret_port)
{
    static const char allowed[] = ASCII_ALPHANUMERIC "_.-";
    struct in6_addr six;
    bool bracket = text[0] == '[';
    text += bracket;
    size_t length = bracket ? strcspn(text, "]") : strspn(text, allowed);
    const char *rest = text + length + (bracket && text[length] != '\0');
    if (length == 0 || length > DOCKER_HOST_LIMIT || (bracket && rest[-1] != ']'))
        return false;
    memcpy(ret_host, text, length);
    ret_host[length] = '\0';
    if (bracket && inet_pton(AF_INET6, ret_host, &six) != 1)
        return false;
    *ret_port = 0;
    if (rest[0] == '\0')
        return true;
    size_t digits = strspn(rest + (rest[0] == ':'), "0123456789");
    if (rest[0] != ':' || digits == 0 || digits > 5 || rest[1 + digits] != '\0')
        return false;
    *ret_port = (unsigned int)strtoul(rest + 1, NULL, 10);
    return *ret_port > 0 && *ret_port <= PORT_LIMIT;
}

/* Only hosts that cannot be another machine: the one name that libcurl itself resolves, and
 * addresses in the usual notation. */
static bool is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
    if (inet_pton(AF_INET6, host, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return strcasecmp(host, "localhost") == 0;
}

static bool refuse_unsupported(const char *text, struct engine_fault *fault)
{
    return strncmp(text, "ssh://", 6) == 0
               ? engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                                  "ssh addresses are not supported: use TLS, or a unix socket that "
                                  "ssh -L forwards: %.60s",
                                  text)
               : engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                                  "the engine's address must be unix:///PATH, tcp://HOST:PORT or "
                                  "https://HOST:PORT: %.100s",
                                  text);
}

static bool take_tcp(const char *text, const struct transport *transport,
                     struct engine_address *ret, struct engine_fault *fault)
{
    const char *place = strstr(text, "://") + 3;
    char host[DOCKER_HOST_LIMIT + 1];
    unsigned int port;
    struct engine_address address = {.client_certificate = false};
    if (!split_host(place, host, &port))
        return refuse_unsupported(text, fault);
    if (!transport->tls && !is_loopback(host))
        return engine_fault_set(
            fault, ENGINE_PROBLEM_CERTIFICATES,
            "plain TCP to %.60s would send code and secrets unencrypted: without TLS "
            "only this machine's loopback is allowed",
            place);
    if (transport->tls && !take_certificates(transport->certificates, &address, fault))
        return false;
    bool six = strchr(host, ':') != NULL;
    if (port == 0)
        port = transport->tls ? PORT_TLS : PORT_PLAIN;
    (void)snprintf(address.base, sizeof(address.base), "http%s://%s%s%s:%u",
                   transport->tls ? "s" : "", six ? "[" : "", host, six ? "]" : "", port);
    *ret = address;
    return true;
}

static bool take_address(const char *text, struct transport transport, struct engine_address *ret,
                         struct engine_fault *fault)
{
    if (strncmp(text, "unix://", 7) == 0)
        return take_socket(text + 7, ret, fault);
    if (strncmp(text, "https://", 8) == 0)
        transport.tls = true;
    else if (strncmp(text, "tcp://", 6) != 0 && strncmp(text, "http://", 7) != 0)
        return refuse_unsupported(text, fault);
    return take_tcp(text, &transport, ret, fault);
}

/* Where the context has certificates, they are used, and TLS with them, whatever the description
 * says. */
static bool take_context(const char *name, const struct docker_options *options,
                         struct transport transport, struct engine_address *ret,
                         struct engine_fault *fault)
{
    struct engine_context context;
    struct engine_fault inner;
    if (!engine_context_read(options->config_directory, name, &context, fault))
        return false;
    if (context.certificates[0] != '\0')
        transport = (struct transport){.tls = true, .certificates = context.certificates};
    if (take_address(context.host, transport, ret, &inner))
        return true;
    return engine_fault_set(fault, inner.problem, "docker context %.40s: %s", name, inner.message);
}

bool engine_address_resolve(const struct docker_options *options, struct engine_address *ret,
                            struct engine_fault *fault)
{
    const struct transport transport = {
        .tls = options->tls != 0,
        .certificates =
            options->certificates[0] ? options->certificates : options->config_directory,
    };
    char name[RUN_NAME_LIMIT + 1];
    if (options->host[0] != '\0')
        return take_address(options->host, transport, ret, fault);
    if (!engine_context_choose(options, name, fault))
        return false;
    if (name[0] != '\0')
        return take_context(name, options, transport, ret, fault);
    return find_socket(ret, fault);
}

void engine_address_explain(const struct engine_address *address, int reason,
                            struct engine_fault *fault)
{
    const char *path = address->socket_path;
    struct stat status;
    /* The kernel's error is the same for a file that is no socket and a socket without a listener.
     */
    bool is_other_file =
        reason == ECONNREFUSED && stat(path, &status) == 0 && !S_ISSOCK(status.st_mode);
    if (reason == ENOENT || reason == ENOTDIR || is_other_file)
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_INSTALLED, NOT_INSTALLED CANNOT_CONNECT ": %s",
                         path, is_other_file ? "not a socket" : "no such file or directory");
    else if (reason == ECONNREFUSED)
        engine_fault_set(fault, ENGINE_PROBLEM_NOT_RUNNING,
                         "docker is not running: " CANNOT_CONNECT ": connection refused", path);
    else if (reason == EACCES || reason == EPERM)
        engine_fault_set(fault, ENGINE_PROBLEM_NO_PERMISSION,
                         "permission denied while trying to connect to the Docker daemon socket at "
                         "unix://%s (user id %u)",
                         path, geteuid());
    else
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, CANNOT_CONNECT ": %s", path,
                         reason == 0 ? "the daemon closes the connection" : strerror(reason));
}
