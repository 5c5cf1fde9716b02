/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the address of the API server and our credentials: see api_server.h. Runs in the kubernetes
 * backend. */
#include "backends/kubernetes/api/api_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/trusted_file.h"

/* A new text, without a NUL in it. */
static char *read_file(const char *path, size_t limit, struct api_fault *fault)
{
    struct error error;
    CLEANUP_CLOSE int fd = trusted_file_open("file", path, ERROR_BACKEND_UNAVAILABLE, &error);
    if (fd < 0) {
        api_fault_set(fault, API_PROBLEM_CONFIGURATION, "%.240s", error.message);
        return NULL;
    }
    CLEANUP_FREE char *text = malloc(limit + 2);
    ssize_t length = text ? trusted_file_read(fd, text, limit + 1) : -1;
    if (length < 0 || (size_t)length > limit) {
        api_fault_set(fault, API_PROBLEM_CONFIGURATION,
                      length < 0 ? "cannot be read: %.200s" : "is too long: %.200s", path);
        return NULL;
    }
    text[length] = '\0';
    if (strlen(text) == (size_t)length)
        return TAKE_POINTER(text);
    explicit_bzero(text, (size_t)length);
    api_fault_set(fault, API_PROBLEM_CONFIGURATION, "is not a text: %.200s", path);
    return NULL;
}

static bool read_kubeconfig(const struct kubernetes_options *options, struct api_server *ret,
                            struct api_fault *fault)
{
    CLEANUP_FREE char *text = read_file(options->kubeconfig, API_FILE_LIMIT, fault);
    if (!text)
        return false;
    bool is_good =
        kubeconfig_read(text, strlen(text), options, options->kubeconfig, read_file, ret, fault);
    explicit_bzero(text, strlen(text));
    return is_good;
}

/* As client libraries do in a pod: the variables and the files of its service account. */
static bool read_pod(const struct kubernetes_options *options, struct api_server *ret,
                     struct api_fault *fault)
{
    const char *host = options->service_host;
    bool is_v6 = strchr(host, ':') != NULL;
    if (host[0] == '\0')
        return api_fault_set(fault, API_PROBLEM_CONFIGURATION,
                             "no cluster is named, and this gateway is in no pod");
    (void)snprintf(ret->source, sizeof(ret->source), "%s", API_PLACE);
    (void)snprintf(ret->host, sizeof(ret->host), is_v6 ? "[%.253s]:%.5s" : "%.253s:%.5s", host,
                   options->service_port[0] ? options->service_port : "443");
    (void)snprintf(ret->base, sizeof(ret->base), "https://%s", ret->host);
    ret->tls = true;
    ret->token_path = strdup(API_PLACE "/token");
    ret->authority = read_file(API_PLACE "/ca.crt", API_FILE_LIMIT, fault);
    if (!ret->authority)
        return false;
    if (!ret->token_path)
        return api_fault_set(fault, API_PROBLEM_CONFIGURATION, "no memory for a token");
    CLEANUP_FREE char *name_space =
        read_file(API_PLACE "/namespace", sizeof(ret->name_space) - 1, fault);
    if (!name_space)
        return false;
    (void)snprintf(ret->name_space, sizeof(ret->name_space), "%s", name_space);
    ret->name_space[strcspn(ret->name_space, "\n")] = '\0';
    return true;
}

/* It is a part of paths in requests. */
static bool is_name(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

bool api_server_find(const struct kubernetes_options *options, struct api_server *ret,
                     struct api_fault *fault)
{
    bool is_found = options->kubeconfig[0] ? read_kubeconfig(options, ret, fault)
                                           : read_pod(options, ret, fault);
    if (!is_found)
        return false;
    if (options->name_space[0])
        (void)snprintf(ret->name_space, sizeof(ret->name_space), "%s", options->name_space);
    if (!is_name(ret->name_space))
        return api_fault_set(fault, API_PROBLEM_NO_NAMESPACE,
                             "no namespace for the runs is named, in the policy or in %.120s",
                             ret->source);
    return true;
}

char *api_server_token(const struct api_server *server, struct api_fault *fault)
{
    char *token = server->token_path ? read_file(server->token_path, API_TOKEN_LIMIT, fault)
                                     : strdup(server->token ? server->token : "");
    if (!token) {
        if (!server->token_path)
            api_fault_set(fault, API_PROBLEM_CREDENTIALS, "no memory for a token");
        return NULL;
    }
    size_t length = strcspn(token, "\r\n");
    token[length] = '\0';
    /* It becomes a line of the request (RFC 6750, section 2.1). */
    for (size_t i = 0; i < length; i++) {
        if (token[i] > ' ' && token[i] <= '~')
            continue;
        explicit_bzero(token, length);
        free(token);
        api_fault_set(fault, API_PROBLEM_CREDENTIALS, "the token in %.180s is none",
                      server->source);
        return NULL;
    }
    return token;
}

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
}

void api_server_clear(struct api_server *server)
{
    wipe(&server->authority);
    wipe(&server->certificate);
    wipe(&server->key);
    wipe(&server->token);
    wipe(&server->token_path);
    *server = (struct api_server){.tls = false};
}
