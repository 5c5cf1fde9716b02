/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of a cluster's API server and our credentials: from a kubeconfig, or from the files
 * that the kubelet puts into a pod. Files are read once, when the server is looked for. Only a
 * token's file is read for each request, because the kubelet renews it. Runs in the kubernetes
 * backend.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "backends/kubernetes/api/api_fault.h"
#include "backends/kubernetes/messages/kubernetes_messages.h"

#define API_BASE_LIMIT  512 /* bytes of a server's URL */
#define API_FILE_LIMIT  (1U << 20)
#define API_TOKEN_LIMIT 16384
#define API_PLACE       "/var/run/secrets/kubernetes.io/serviceaccount"

struct api_server {
    char base[API_BASE_LIMIT]; /* "https://HOST:PORT", a path behind it or not, without "/" */
    char host[300];            /* HOST:PORT of it, for the header of that name */
    bool tls;                  /* false only on a loopback address */
    char name_space[KUBERNETES_NAME_LIMIT + 1];
    char source[PATH_MAX]; /* the file that says so, for messages */
    /* PEM texts, NULL where there is none; owned. */
    char *authority;
    char *certificate;
    char *key;
    char *token;
    char *token_path; /* in place of token */
};

/* Starts all zero; to be cleared in either case. */
bool api_server_find(const struct kubernetes_options *options, struct api_server *ret,
                     struct api_fault *fault);
/* Reads a kubeconfig (YAML or JSON). The files that it names are read only through the given
 * function, which returns a new text, or NULL with the fault. Pure code. */
typedef char *api_read_file(const char *path, size_t limit, struct api_fault *fault);
bool kubeconfig_read(const char *text, size_t length, const struct kubernetes_options *options,
                     const char *path, api_read_file *read_file, struct api_server *ret,
                     struct api_fault *fault);
/* The current token: new (free() after explicit_bzero()), "" without one; NULL with the fault. */
char *api_server_token(const struct api_server *server, struct api_fault *fault);
/* Wipes what is secret. */
void api_server_clear(struct api_server *server);
