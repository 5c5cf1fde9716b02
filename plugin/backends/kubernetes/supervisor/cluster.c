/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of clusters: see cluster.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/supervisor/cluster.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

_Static_assert(offsetof(struct kubernetes_environment, guests) == 0, "one address");
_Static_assert((int)API_PROBLEM_NONE == (int)FAULT_NONE &&
                   (int)API_PROBLEM_SILENT == (int)FAULT_SILENT &&
                   (int)API_PROBLEM_ALTERED == (int)FAULT_ALTERED,
               "one number");

struct kubernetes_environment *kubernetes_environment(struct guest_environment *guests)
{
    return (struct kubernetes_environment *)guests;
}

struct engine_fault cluster_fault(const struct api_fault *fault)
{
    struct engine_fault same = {.problem = fault->problem, .retry_after_ms = fault->retry_after_ms};
    (void)snprintf(same.message, sizeof(same.message), "%s", fault->message);
    return same;
}

/* NULL when out of memory. */
static char *key_of(const struct kubernetes_options *options)
{
    char *key = NULL;
    if (asprintf(&key, "%s\n%s\n%s\n%s\n%s", options->kubeconfig, options->context,
                 options->name_space, options->service_host, options->service_port) < 0)
        return NULL;
    return key;
}

static struct engine *find_by_key(struct kubernetes_environment *environment, const char *key)
{
    for (size_t i = 0; i < environment->cluster_count; i++)
        if (strcmp(environment->clusters[i].key, key) == 0)
            return &environment->clusters[i];
    return NULL;
}

static struct engine *add(struct kubernetes_environment *environment, char **key,
                          const struct kubernetes_options *options, struct api_fault *fault)
{
    struct engine *cluster = &environment->clusters[environment->cluster_count];
    if (!api_server_find(options, &cluster->server, fault)) {
        api_server_clear(&cluster->server);
        return NULL;
    }
    cluster->pods = pods_new(environment->client, &cluster->server, cluster->server.name_space,
                             environment->owner_name);
    if (!cluster->pods) {
        api_server_clear(&cluster->server);
        api_fault_set(fault, API_PROBLEM_SILENT, "no memory for a cluster");
        return NULL;
    }
    cluster->key = TAKE_POINTER(*key);
    cluster->environment = environment;
    environment->cluster_count++;
    return cluster;
}

/* A known cluster stays unchanged until the backend ends, because its pods are there. */
struct engine *cluster_find(struct kubernetes_environment *environment,
                            const struct kubernetes_options *options, struct engine_fault *fault)
{
    CLEANUP_FREE char *key = key_of(options);
    struct engine *cluster = key ? find_by_key(environment, key) : NULL;
    struct api_fault why;
    if (cluster)
        return cluster;
    if (!key || environment->cluster_count == CLUSTERS_LIMIT) {
        engine_fault_set(fault, API_PROBLEM_CONFIGURATION, "more than %d clusters are in use",
                         CLUSTERS_LIMIT);
        return NULL;
    }
    cluster = add(environment, &key, options, &why);
    if (!cluster)
        *fault = cluster_fault(&why);
    return cluster;
}

void cluster_clear_all(struct kubernetes_environment *environment)
{
    for (size_t i = 0; i < environment->cluster_count; i++) {
        pods_free(environment->clusters[i].pods);
        api_server_clear(&environment->clusters[i].server);
        free(environment->clusters[i].key);
    }
    environment->cluster_count = 0;
}
