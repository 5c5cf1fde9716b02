/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a taken-over connection: the cuts make no difference, and a head is one that a plain
 * reader would see. */
#include "backends/docker/container/attached_stream.h"
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

/* "HTTP/1.x NNN", then a blank or the end; 0 for anything else. */
static int status_of(const char *line)
{
    int status = 0;
    int length = 0;
    if (sscanf(line, "HTTP/1.%*1[0-9] %3d%n", &status, &length) != 1 || length != 12 ||
        line[8] != ' ' || strspn(line + 9, "0123456789") < 3)
        return 0;
    return line[12] == ' ' || line[12] == '\0' ? status : 0;
}

/* The definition, line by line: CRs do not count. The status, and where the head ends. */
static enum http_head_state read_plainly(const struct fuzz_input *input, int *ret_status,
                                         size_t *ret_taken)
{
    char line[HTTP_HEAD_LIMIT + 1];
    size_t length = 0;
    size_t interim = 0;
    bool in_headers = false;
    for (size_t i = 0; i < input->length; i++) {
        *ret_taken = i + 1;
        if (i == HTTP_HEAD_LIMIT)
            return HTTP_HEAD_BROKEN;
        if (input->bytes[i] != '\n') {
            if (input->bytes[i] != '\r')
                line[length++] = (char)input->bytes[i];
            continue;
        }
        line[length] = '\0';
        if (!in_headers) {
            *ret_status = status_of(line);
            if (*ret_status < 100)
                return HTTP_HEAD_BROKEN;
            in_headers = true;
        } else if (length == 0) {
            if (*ret_status == 101 || *ret_status >= 200)
                return HTTP_HEAD_WHOLE;
            if (++interim > HTTP_INTERIM_LIMIT)
                return HTTP_HEAD_BROKEN;
            in_headers = false;
        }
        length = 0;
    }
    return HTTP_HEAD_MORE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    struct http_head whole = {.length = 0};
    struct http_head sliced = {.length = 0};
    enum http_head_state whole_state;
    enum http_head_state sliced_state;
    int status = 0;
    size_t plainly = 0;
    size_t taken = feed(&input, true, &whole, &whole_state);
    MUST(feed(&input, false, &sliced, &sliced_state) == taken);
    MUST(whole_state == sliced_state && whole.status == sliced.status);
    MUST(whole.length == taken && whole.interim == sliced.interim);
    MUST(read_plainly(&input, &status, &plainly) == whole_state);
    MUST(plainly == taken);
    if (whole_state == HTTP_HEAD_WHOLE)
        MUST(whole.status == status);
    return 0;
}
