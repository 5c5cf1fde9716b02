/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what is known of the layers of sets: see package_layer.h. */
#include "backends/docker/image/package_layer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/write_fully.h"

#define LAYERS_FILE  "layers" /* a digest a line */
#define LAYERS_LIMIT 4096     /* bytes; more are not noted */

/* Its text; false: there is none. */
static bool read_layers(int set, char ret[LAYERS_LIMIT + 1])
{
    struct stat status;
    CLEANUP_CLOSE int fd = openat(set, LAYERS_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    ssize_t length = read(fd, ret, LAYERS_LIMIT);
    ret[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; *at; at = strchrnul(at, '\n'), at += *at == '\n')
        if (strncmp(at, line, length) == 0 && at[length] == '\n')
            return true;
    return false;
}

static bool is_noted(int set, const char *layer)
{
    char text[LAYERS_LIMIT + 1];
    return read_layers(set, text) && has_line(text, layer);
}

static bool is_digest(const char *layer)
{
    return layer && strncmp(layer, "sha256:", 7) == 0 &&
           ascii_is_hex(layer + 7, LAYER_DIGEST_LIMIT - 7);
}

static bool was_made_here(const struct image_store *store, const struct engine *engine,
                          const char *packages, const char *layer)
{
    for (size_t i = 0; i < DERIVED_IMAGES_LIMIT; i++)
        if (store->made[i].engine == engine && strcmp(store->made[i].packages, packages) == 0 &&
            strcmp(store->made[i].layer, layer) == 0)
            return true;
    return false;
}

bool package_layer_is_known(const struct image_store *store, const struct engine *engine, int set,
                            const char *packages, const char *layer)
{
    return is_digest(layer) &&
           (was_made_here(store, engine, packages, layer) || is_noted(set, layer));
}

void package_layer_note(struct image_store *store, const struct engine *engine, int set,
                        const char *packages, const char *layer)
{
    char line[LAYER_DIGEST_LIMIT + 2];
    struct stat status;
    if (!is_digest(layer) || package_layer_is_known(store, engine, set, packages, layer))
        return;
    struct made_packages *place = &store->made[store->next_made];
    store->next_made = (store->next_made + 1) % DERIVED_IMAGES_LIMIT;
    place->engine = engine;
    (void)snprintf(place->packages, sizeof(place->packages), "%s", packages);
    (void)snprintf(place->layer, sizeof(place->layer), "%s", layer);
    CLEANUP_CLOSE int fd =
        openat(set, LAYERS_FILE,
               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size + LAYER_DIGEST_LIMIT + 1 > LAYERS_LIMIT)
        return;
    (void)snprintf(line, sizeof(line), "%s\n", layer);
    (void)write_fully(fd, line, strlen(line));
}
