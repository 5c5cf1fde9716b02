/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a fetch's report: see pull_progress.h. Runs in the docker backend. */
#include "backends/docker/run/pull_progress.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define MEGABYTE 1e6

static struct pull_layer *layer_of(struct pull_progress *progress, const char *id)
{
    for (size_t i = 0; i < progress->layer_count; i++)
        if (strncmp(progress->layers[i].id, id, sizeof(progress->layers[i].id) - 1) == 0)
            return &progress->layers[i];
    if (progress->layer_count == PULL_LAYERS_LIMIT)
        return NULL;
    struct pull_layer *layer = &progress->layers[progress->layer_count++];
    (void)snprintf(layer->id, sizeof(layer->id), "%.15s", id);
    return layer;
}

static uint64_t figure(const json_t *detail, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(detail, name));
    return value > 0 ? (uint64_t)value : 0;
}

/* The states that engines tell of a layer; the tag's own line has an id too, which is no layer's.
 */
static void take_layer(struct pull_progress *progress, const char *id, const char *status,
                       const json_t *detail)
{
    static const char *const under_way[] = {"Pulling fs layer", "Waiting", "Downloading"};
    static const char *const fetched[] = {"Download complete", "Verifying Checksum", "Extracting",
                                          "Pull complete", "Already exists"};
    bool is_fetched = false;
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(under_way); i++)
        known = known || strcmp(status, under_way[i]) == 0;
    for (size_t i = 0; i < COUNT_OF(fetched); i++)
        is_fetched = is_fetched || strcmp(status, fetched[i]) == 0;
    struct pull_layer *layer = known || is_fetched ? layer_of(progress, id) : NULL;
    if (!layer)
        return;
    layer->fetched = layer->fetched || is_fetched;
    if (strcmp(status, "Downloading") == 0) {
        layer->current = figure(detail, "current");
        layer->total = figure(detail, "total");
    }
    if (layer->fetched)
        layer->current = layer->total;
}

static void take_refusal(struct pull_progress *progress, const json_t *line)
{
    const char *error = json_string_value(json_object_get(line, "error"));
    const char *message = json_string_value(json_object_get(line, "message"));
    if (!error)
        error = message;
    if (!error || progress->refusal[0])
        return;
    (void)snprintf(progress->refusal, sizeof(progress->refusal), "%.150s", error);
    for (char *c = progress->refusal; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = ' ';
}

void pull_progress_take(struct pull_progress *progress, const char *bytes, size_t length)
{
    json_auto_t *line = json_loadb(bytes, length, 0, NULL);
    const char *id = json_string_value(json_object_get(line, "id"));
    const char *status = json_string_value(json_object_get(line, "status"));
    take_refusal(progress, line);
    if (id && status)
        take_layer(progress, id, status, json_object_get(line, "progressDetail"));
}

void pull_progress_text(const struct pull_progress *progress, const char *image, char *text,
                        size_t size)
{
    size_t fetched = 0;
    uint64_t current = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < progress->layer_count; i++) {
        fetched += progress->layers[i].fetched;
        current += progress->layers[i].current;
        total += progress->layers[i].total;
    }
    int length = snprintf(text, size, "pulling %.150s", image);
    if (progress->layer_count > 0 && length > 0 && (size_t)length < size)
        (void)snprintf(text + length, size - (size_t)length, ": %zu of %zu layers, %.1f of %.1f MB",
                       fetched, progress->layer_count, (double)current / MEGABYTE,
                       (double)total / MEGABYTE);
}
