/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a run's files: whatever they say, the list keeps its bounds, and is the same
 * wherever the stream is cut. */
#include "artifacts/artifact_reader.h"
#include "fuzz.h"

static const struct artifact_settings limits = {
    .files = 4, .file_bytes = 4096, .total_bytes = 8192, .inline_bytes = 1024};

/* The list as its JSON, new. */
static char *read_cut(const struct fuzz_input *input, bool whole)
{
    static const struct tool_host host = {.user = NULL};
    struct artifact_settings settings = limits;
    struct artifact_list list = {.count = 0};
    struct artifact_reader reader;
    size_t begin = 0;
    bool going_on = true;
    settings.host = &host;
    artifact_reader_init(&reader, &settings, &list);
    for (size_t i = 0; begin < input->length && going_on; i++) {
        size_t left = input->length - begin;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        uint8_t *slice = fuzz_exact(input->bytes + begin, length);
        going_on = artifact_reader_feed(&reader, slice, length);
        free(slice);
        begin += length;
    }
    (void)artifact_reader_finish(&reader);
    artifact_reader_clear(&reader);
    MUST(list.count <= limits.files);
    uint64_t inline_bytes = 0;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].omission == FILE_WHOLE)
            inline_bytes += list.items[i].size;
    MUST(inline_bytes <= limits.inline_bytes);
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t text_length;
    artifact_list_write(&draft, NULL, &list);
    char *text = json_draft_take(&draft, &text_length);
    MUST(text);
    artifact_list_clear(&list);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_split(data, size);
    char *one = read_cut(&input, true);
    char *other = read_cut(&input, false);
    MUST(strcmp(one, other) == 0);
    free(one);
    free(other);
    return 0;
}
