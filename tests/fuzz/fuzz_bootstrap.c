/* SPDX-License-Identifier: Apache-2.0 */
/* The container's first words, on either of its outputs: the cuts make no difference, the verdict
 * is where the bytes say, and a fact holds only where it is written. */
#include "backends/docker/container/bootstrap.h"
#include "fuzz.h"

typedef enum bootstrap_state read_function(struct bootstrap_reader *reader,
                                           const unsigned char *bytes, size_t length,
                                           size_t *ret_taken);

static size_t feed(const struct fuzz_input *input, bool whole, read_function *read,
                   struct bootstrap_reader *reader, enum bootstrap_state *ret)
{
    size_t taken = 0;
    *ret = BOOTSTRAP_MORE;
    for (size_t i = 0; *ret == BOOTSTRAP_MORE && taken < input->length; i++) {
        size_t left = input->length - taken;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        size_t count = 0;
        uint8_t *slice = fuzz_exact(input->bytes + taken, length);
        *ret = read(reader, slice, length, &count);
        free(slice);
        MUST(count <= length);
        MUST(count == length || *ret != BOOTSTRAP_MORE);
        taken += count;
    }
    return taken;
}

/* Both ways; the whole one's results. */
static size_t feed_both(const struct fuzz_input *input, read_function *read,
                        struct bootstrap_reader *ret_reader, enum bootstrap_state *ret_state)
{
    struct bootstrap_reader sliced = {.length = 0};
    enum bootstrap_state sliced_state;
    size_t taken = feed(input, true, read, ret_reader, ret_state);
    MUST(feed(input, false, read, &sliced, &sliced_state) == taken);
    MUST(*ret_state == sliced_state && ret_reader->facts == sliced.facts);
    MUST(strcmp(ret_reader->detail, sliced.detail) == 0);
    return taken;
}

static void check_facts(const uint8_t *bytes, size_t length, uint32_t facts)
{
    static const char *const marks[BOOTSTRAP_FACT_COUNT] = {
        [BOOTSTRAP_FACT_CAP_INHERITABLE] = "=CapInh: 0",
        [BOOTSTRAP_FACT_CAP_PERMITTED] = "=CapPrm: 0",
        [BOOTSTRAP_FACT_CAP_EFFECTIVE] = "=CapEff: 0",
        [BOOTSTRAP_FACT_CAP_BOUNDING] = "=CapBnd: 0",
        [BOOTSTRAP_FACT_CAP_AMBIENT] = "=CapAmb: 0",
        [BOOTSTRAP_FACT_NO_NEW_PRIVILEGES] = "=NoNewPrivs: 1",
        [BOOTSTRAP_FACT_SECCOMP] = "=Seccomp: 2",
        [BOOTSTRAP_FACT_ORDINARY_USER] = "=Uid: ",
    };
    MUST((facts & ~BOOTSTRAP_FACTS_ALL) == 0);
    for (size_t i = 0; i < BOOTSTRAP_FACT_COUNT; i++)
        if (facts & BOOTSTRAP_FACT_BIT(i))
            MUST(memmem(bytes, length, marks[i], strlen(marks[i])) != NULL);
}

static void try_report(const struct fuzz_input *input)
{
    struct bootstrap_reader reader = {.length = 0};
    enum bootstrap_state state;
    size_t taken = feed_both(input, bootstrap_read, &reader, &state);
    MUST(taken <= BOOTSTRAP_REPORT_LIMIT + 1);
    if (state != BOOTSTRAP_MORE)
        MUST(taken > 0);
    if (state == BOOTSTRAP_READY || state == BOOTSTRAP_MISSING) {
        MUST(taken >= 2 && input->bytes[taken - 1] == '\n');
        /* The word is a line of its own. */
        MUST(input->bytes[taken - 2] == (state == BOOTSTRAP_READY ? '+' : '?'));
        MUST(taken == 2 || input->bytes[taken - 3] == '\n');
    }
    if (state == BOOTSTRAP_FAILED)
        MUST(reader.detail[0] != '\0');
    check_facts(input->bytes, taken, reader.facts);
}

static void try_errors(const struct fuzz_input *input)
{
    struct bootstrap_reader reader = {.length = 0};
    enum bootstrap_state state;
    size_t taken = feed_both(input, bootstrap_read_errors, &reader, &state);
    MUST(state == BOOTSTRAP_MORE || state == BOOTSTRAP_READY);
    if (state == BOOTSTRAP_READY) {
        MUST(taken >= 2 && memcmp(input->bytes + taken - 2, "+\n", 2) == 0);
        MUST(taken == 2 || input->bytes[taken - 3] == '\n');
    } else {
        MUST(input->length < 2 || memcmp(input->bytes, "+\n", 2) != 0);
        MUST(memmem(input->bytes, input->length, "\n+\n", 3) == NULL);
    }
    for (const char *c = reader.detail; *c; c++)
        MUST(*c >= ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    try_report(&input);
    try_errors(&input);
    return 0;
}
