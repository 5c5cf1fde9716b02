/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a run's message and the report of its end, as guest and backend read them: what is
 * taken is written the same again. */
#include "fuzz.h"
#include "guest/messages/guest_protocol.h"

static void write_again(struct wire_writer *writer, const uint8_t *bytes, size_t length)
{
    MUST(!writer->failed && writer->length == length);
    MUST(length == 0 || memcmp(writer->bytes, bytes, length) == 0);
    free(writer->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct guest_run run;
    struct guest_end end;
    uint8_t *bytes = fuzz_exact(data, size);
    if (guest_run_read(bytes, size, &run)) {
        struct wire_writer writer = {.limit = size};
        MUST(run.argv && run.argv[0] && run.environment && run.paths);
        guest_run_write(&writer, &run);
        write_again(&writer, bytes, size);
        guest_run_clear(&run);
    }
    if (guest_end_read(bytes, size, &end)) {
        struct wire_writer writer = {.limit = size};
        guest_end_write(&writer, &end);
        write_again(&writer, bytes, size);
    }
    free(bytes);
    return 0;
}
