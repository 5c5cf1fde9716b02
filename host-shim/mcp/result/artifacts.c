/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the files of runs for a while. Any thread. */
#include "mcp/result/artifacts.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/digest.h"

#define ID_DIGITS 32u
#define SCHEME    "toolhost://run/"

struct artifact {
    struct artifact *next;
    json_t *contents; /* one entry: uri, mimeType, text or blob */
    size_t bytes;
    uint64_t expires_ms;
};

static void forget_first(struct artifacts *artifacts)
{
    struct artifact *artifact = artifacts->first;
    artifacts->first = artifact->next;
    if (!artifacts->first)
        artifacts->last = NULL;
    artifacts->bytes -= artifact->bytes;
    json_decref(artifact->contents);
    free(artifact);
}

static void forget_old(struct artifacts *artifacts)
{
    uint64_t now = monotonic_ms();
    while (artifacts->first && now >= artifacts->first->expires_ms)
        forget_first(artifacts);
}

void artifacts_init(struct artifacts *artifacts)
{
    *artifacts = (struct artifacts){0};
    (void)pthread_mutex_init(&artifacts->lock, NULL);
}

void artifacts_clear(struct artifacts *artifacts)
{
    while (artifacts->first)
        forget_first(artifacts);
    (void)pthread_mutex_destroy(&artifacts->lock);
}

/* RFC 3986: what is neither unreserved nor a slash is written as its bytes. */
static char *make_uri(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/";
    char id[ID_DIGITS + 1];
    char *uri = NULL;
    size_t size = 0;
    if (!hex_random(id, ID_DIGITS))
        return NULL;
    FILE *out = open_memstream(&uri, &size);
    if (!out)
        return NULL;
    (void)fprintf(out, SCHEME "%s/", id);
    for (; *path; path++) {
        if (strchr(plain, *path))
            (void)fputc(*path, out);
        else
            (void)fprintf(out, "%%%02X", (unsigned char)*path);
    }
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return uri;
    free(uri);
    return NULL;
}

/* Under the lock; takes the artifact over. */
static void add_artifact(struct artifacts *artifacts, struct artifact *artifact)
{
    forget_old(artifacts);
    while (artifacts->bytes + artifact->bytes > ARTIFACTS_BYTES)
        forget_first(artifacts);
    if (artifacts->last)
        artifacts->last->next = artifact;
    else
        artifacts->first = artifact;
    artifacts->last = artifact;
    artifacts->bytes += artifact->bytes;
}

json_t *artifacts_keep(struct artifacts *artifacts, const char *path, const char *mime_type,
                       const json_t *content, bool is_text)
{
    size_t bytes = json_string_length(content);
    if (bytes > ARTIFACTS_BYTES)
        return NULL;
    CLEANUP_FREE char *uri = make_uri(path);
    json_auto_t *contents = uri ? json_pack("[{s:s, s:s, s:o}]", "uri", uri, "mimeType", mime_type,
                                            is_text ? "text" : "blob", json_deep_copy(content))
                                : NULL;
    struct artifact *artifact = contents ? calloc(1, sizeof(*artifact)) : NULL;
    if (!artifact)
        return NULL;
    *artifact = (struct artifact){.contents = TAKE_POINTER(contents),
                                  .bytes = bytes,
                                  .expires_ms = monotonic_ms() + ARTIFACTS_KEPT_MS};
    (void)pthread_mutex_lock(&artifacts->lock);
    add_artifact(artifacts, artifact);
    (void)pthread_mutex_unlock(&artifacts->lock);
    return json_string(uri);
}

/* Under the lock. */
static json_t *find_contents(struct artifacts *artifacts, const char *uri)
{
    forget_old(artifacts);
    for (const struct artifact *artifact = artifacts->first; artifact; artifact = artifact->next) {
        const json_t *entry = json_array_get(artifact->contents, 0);
        if (strcmp(json_string_value(json_object_get(entry, "uri")), uri) == 0)
            return json_deep_copy(artifact->contents);
    }
    return NULL;
}

json_t *artifacts_read(struct artifacts *artifacts, const char *uri)
{
    (void)pthread_mutex_lock(&artifacts->lock);
    json_t *contents = find_contents(artifacts, uri);
    (void)pthread_mutex_unlock(&artifacts->lock);
    return contents;
}
