/* SPDX-License-Identifier: Apache-2.0 */
/* The report on a fetch, line by line: bounded, printable, and a line that comes twice says nothing
 * new. The cuts are the lines' own here, so the first line of the input is one of them. */
#include "backends/docker/run/pull_progress.h"
#include "fuzz.h"

static void check_text(const struct pull_progress *progress)
{
    char text[256];
    for (size_t size = 1; size <= sizeof(text); size += 51) {
        memset(text, 'x', sizeof(text));
        pull_progress_text(progress, "example/image:1", text, size);
        size_t length = strnlen(text, sizeof(text));
        MUST(length < size);
        MUST(strncmp(text, "pulling example/image:1", length < 23 ? length : 23) == 0);
    }
}

static void check(const struct pull_progress *progress)
{
    MUST(progress->layer_count <= PULL_LAYERS_LIMIT);
    for (size_t i = 0; i < progress->layer_count; i++) {
        const struct pull_layer *layer = &progress->layers[i];
        MUST(strnlen(layer->id, sizeof(layer->id)) < sizeof(layer->id));
        MUST(!layer->fetched || layer->current == layer->total);
        for (size_t j = 0; j < i; j++)
            MUST(strcmp(layer->id, progress->layers[j].id) != 0);
    }
    MUST(strnlen(progress->refusal, sizeof(progress->refusal)) < sizeof(progress->refusal));
    for (const char *c = progress->refusal; *c; c++)
        MUST(*c >= ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pull_progress progress;
    static struct pull_progress before;
    progress = (struct pull_progress){.layer_count = 0};
    for (size_t begin = 0; begin < size;) {
        const uint8_t *newline = memchr(data + begin, '\n', size - begin);
        size_t length = newline ? (size_t)(newline - data) - begin : size - begin;
        uint8_t *line = fuzz_exact(data + begin, length);
        pull_progress_take(&progress, (const char *)line, length);
        before = progress;
        pull_progress_take(&progress, (const char *)line, length);
        MUST(memcmp(&before, &progress, sizeof(progress)) == 0);
        free(line);
        begin += length + 1;
    }
    check(&progress);
    check_text(&progress);
    return 0;
}
