/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a taken-over connection: the cuts make no difference, and a head is one that a plain
 * reader would see. */
#include "../../plugin/backends/docker/http_head.h"
#include "fuzz.h"

/* In the slices of the input, or whole. The bytes taken in all. */
static size_t feed(const struct fuzz_input *input, bool whole, struct http_head *head,
                   enum http_head_state *ret)
{
    size_t taken = 0;
    *ret = HTTP_HEAD_MORE;
    for (size_t i = 0; *ret == HTTP_HEAD_MORE && taken < input->length; i++) {
        size_t left = input->length - taken;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        size_t count = 0;
        uint8_t *slice = fuzz_exact(input->bytes + taken, length);
        *ret = http_head_feed(head, slice, length, &count);
        free(slice);
        MUST(count <= length);
        MUST(count == length || *ret != HTTP_HEAD_MORE);
        taken += count;
    }
    return taken;
}

/* Ends with a line that is empty but for CRs. */
static bool ends_empty(const uint8_t *bytes, size_t length)
{
    if (length < 2 || bytes[length - 1] != '\n')
        return false;
    for (length--; length > 0 && bytes[length - 1] == '\r'; length--)
        continue;
    return length > 0 && bytes[length - 1] == '\n';
}

/* In some line, whatever CRs are in it. */
static bool has_status(const uint8_t *bytes, size_t length, int status)
{
    char wanted[16];
    size_t kept = 0;
    uint8_t *plain = fuzz_exact(bytes, length);
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != '\r')
            plain[kept++] = bytes[i];
    (void)snprintf(wanted, sizeof(wanted), " %03d", status);
    bool found = memmem(plain, kept, wanted, 4) != NULL;
    free(plain);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    struct http_head whole = {.length = 0};
    struct http_head sliced = {.length = 0};
    enum http_head_state whole_state;
    enum http_head_state sliced_state;
    size_t taken = feed(&input, true, &whole, &whole_state);
    MUST(feed(&input, false, &sliced, &sliced_state) == taken);
    MUST(whole_state == sliced_state && whole.status == sliced.status);
    MUST(whole.length == taken && whole.interim == sliced.interim);
    if (whole_state != HTTP_HEAD_BROKEN)
        MUST(taken <= HTTP_HEAD_LIMIT);
    if (whole_state == HTTP_HEAD_WHOLE) {
        MUST(whole.status == 101 || (whole.status >= 200 && whole.status <= 999));
        MUST(ends_empty(input.bytes, taken));
        MUST(whole.interim <= HTTP_INTERIM_LIMIT);
        MUST(has_status(input.bytes, taken, whole.status));
    }
    return 0;
}
