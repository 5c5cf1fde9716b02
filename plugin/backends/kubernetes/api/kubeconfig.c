/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a kubeconfig: see api_server.h. A member that is not known here, and could
 * change the address or the credentials, is refused by its name. Runs in the kubernetes backend. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/kubernetes/api/api_server.h"
#include "backends/kubernetes/api/yaml_document.h"
#include "base/base64.h"
#include "base/cleanup.h"

struct source {
    const char *path;
    api_read_file *read_file;
    struct api_fault *fault;
};

/* The members with a value that are not in the list. */
static bool check_members(json_t *object, const char *kind, const char *const *known,
                          const struct source *source)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        bool is_known = json_is_null(value) || json_is_false(value) ||
                        (json_is_string(value) && json_string_length(value) == 0);
        for (size_t i = 0; known[i] && !is_known; i++)
            is_known = strcmp(known[i], name) == 0;
        if (!is_known)
            return api_fault_set(source->fault, API_PROBLEM_CREDENTIALS,
                                 "the %s in %.120s has \"%.40s\", which this backend does not "
                                 "have",
                                 kind, source->path, name);
    }
    return true;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* The object under "kind" in the list's entry of that name. NULL with the fault. */
static json_t *find_entry(const json_t *config, const char *list, const char *kind,
                          const char *name, const struct source *source)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(json_object_get(config, list), i, entry)
    {
        json_t *object = json_object_get(entry, kind);
        if (strcmp(text_of(entry, "name"), name) == 0 && json_is_object(object))
            return object;
    }
    api_fault_set(source->fault, API_PROBLEM_CONFIGURATION, "%.120s has no %s \"%.60s\"",
                  source->path, kind, name);
    return NULL;
}

/* Beside the kubeconfig, where it is no absolute path. NULL when out of memory. */
static char *place_path(const char *path, const struct source *source)
{
    const char *slash = strrchr(source->path, '/');
    char *placed = NULL;
    if (path[0] == '/' || !slash)
        return strdup(path);
    if (asprintf(&placed, "%.*s/%s", (int)(slash - source->path), source->path, path) < 0)
        return NULL;
    return placed;
}

static bool fail_memory(const struct source *source)
{
    return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION, "no memory for %.150s",
                         source->path);
}

/* The text in Base64 in NAME-data, else that of the file in NAME; none where there is neither. */
static bool take_pem(const json_t *object, const char *name, char **ret,
                     const struct source *source)
{
    char data_name[64];
    size_t length = 0;
    unsigned char *bytes = NULL;
    (void)snprintf(data_name, sizeof(data_name), "%s-data", name);
    const char *data = text_of(object, data_name);
    if (data[0] != '\0') {
        enum base64_result result = base64_decode(data, strlen(data), &bytes, &length);
        *ret = (char *)bytes;
        if (result == BASE64_OUT_OF_MEMORY)
            return fail_memory(source);
        if (result == BASE64_OK && strlen(*ret) == length && length > 0)
            return true;
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "\"%s\" in %.150s is not a text in Base64", data_name, source->path);
    }
    const char *path = text_of(object, name);
    if (path[0] == '\0')
        return true;
    CLEANUP_FREE char *placed = place_path(path, source);
    if (!placed)
        return fail_memory(source);
    *ret = source->read_file(placed, API_FILE_LIMIT, source->fault);
    return *ret;
}

/* HOST[:PORT], by the number of an address: names may lead anywhere. */
static bool is_loopback(const char *host)
{
    char text[INET6_ADDRSTRLEN + 1] = "";
    struct in_addr four;
    struct in6_addr six;
    bool is_six = host[0] == '[';
    size_t length = strcspn(host + is_six, is_six ? "]" : ":/");
    if (length >= sizeof(text))
        return false;
    memcpy(text, host + is_six, length);
    if (is_six)
        return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
    return inet_pton(AF_INET, text, &four) == 1 && ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* A server's URL: https, or http on this machine. */
static bool take_server(const char *url, struct api_server *ret, const struct source *source)
{
    bool tls = strncasecmp(url, "https://", 8) == 0;
    const char *host = tls ? url + 8 : url + 7;
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("?#@\\\"", *c))
            return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                                 "the server in %.150s is no URL of an API server", source->path);
    if (!tls && strncasecmp(url, "http://", 7) != 0)
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "the server in %.120s has no https:// in front: %.80s", source->path,
                             url);
    if (!tls && !is_loopback(host))
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "without TLS only this machine's loopback is allowed: %.120s", url);
    size_t host_length = strcspn(host, "/");
    if (length >= sizeof(ret->base) || host_length == 0 || host_length >= sizeof(ret->host))
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "the server in %.150s is too long, or has no host", source->path);
    ret->tls = tls;
    (void)snprintf(ret->base, sizeof(ret->base), "%.*s", (int)length, url);
    (void)snprintf(ret->host, sizeof(ret->host), "%.*s", (int)host_length, host);
    return true;
}

static bool take_cluster(json_t *cluster, struct api_server *ret, const struct source *source)
{
    static const char *const known[] = {
        "server",     "certificate-authority", "certificate-authority-data",
        "extensions", "disable-compression",   NULL};
    if (!check_members(cluster, "cluster", known, source) ||
        !take_server(text_of(cluster, "server"), ret, source) ||
        !take_pem(cluster, "certificate-authority", &ret->authority, source))
        return false;
    if (ret->tls && !ret->authority)
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "the cluster in %.150s has no certificate-authority", source->path);
    return true;
}

static bool take_token(const json_t *user, struct api_server *ret, const struct source *source)
{
    const char *path = text_of(user, "tokenFile");
    const char *token = text_of(user, "token");
    if (path[0] != '\0') {
        ret->token_path = place_path(path, source);
        return ret->token_path || fail_memory(source);
    }
    if (token[0] == '\0')
        return true;
    ret->token = strdup(token);
    return ret->token || fail_memory(source);
}

static bool take_user(json_t *user, struct api_server *ret, const struct source *source)
{
    static const char *const known[] = {"client-certificate",
                                        "client-certificate-data",
                                        "client-key",
                                        "client-key-data",
                                        "token",
                                        "tokenFile",
                                        "extensions",
                                        NULL};
    const json_t *plugin = json_object_get(user, "exec");
    if (json_is_object(plugin))
        return api_fault_set(source->fault, API_PROBLEM_CREDENTIALS,
                             "the user in %.120s logs in by a program (exec: %.60s), which is not "
                             "started",
                             source->path, text_of(plugin, "command"));
    if (!check_members(user, "user", known, source) ||
        !take_pem(user, "client-certificate", &ret->certificate, source) ||
        !take_pem(user, "client-key", &ret->key, source) || !take_token(user, ret, source))
        return false;
    if (!ret->certificate != !ret->key)
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "the user in %.150s has a certificate or a key, but not both",
                             source->path);
    return true;
}

static bool take_context(const json_t *config, const struct kubernetes_options *options,
                         struct api_server *ret, const struct source *source)
{
    const char *name = options->context[0] ? options->context : text_of(config, "current-context");
    const json_t *context = find_entry(config, "contexts", "context", name, source);
    json_t *cluster =
        context ? find_entry(config, "clusters", "cluster", text_of(context, "cluster"), source)
                : NULL;
    json_t *user =
        cluster ? find_entry(config, "users", "user", text_of(context, "user"), source) : NULL;
    if (!user)
        return false;
    const char *name_space = text_of(context, "namespace");
    if (strlen(name_space) >= sizeof(ret->name_space))
        return api_fault_set(source->fault, API_PROBLEM_CONFIGURATION,
                             "the namespace in %.150s is too long", source->path);
    (void)snprintf(ret->name_space, sizeof(ret->name_space), "%s", name_space);
    return take_cluster(cluster, ret, source) && take_user(user, ret, source);
}

bool kubeconfig_read(const char *text, size_t length, const struct kubernetes_options *options,
                     const char *path, api_read_file *read_file, struct api_server *ret,
                     struct api_fault *fault)
{
    const struct source source = {path, read_file, fault};
    size_t line = 0;
    json_auto_t *config = yaml_document_read(text, length, &line);
    if (!json_is_object(config))
        return api_fault_set(fault, API_PROBLEM_CONFIGURATION,
                             "line %zu of %.150s is not understood", line, path);
    (void)snprintf(ret->source, sizeof(ret->source), "%s", path);
    return take_context(config, options, ret, &source);
}
