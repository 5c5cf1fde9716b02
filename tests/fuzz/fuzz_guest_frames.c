/* SPDX-License-Identifier: Apache-2.0 */
/* What the first process of a container says: whatever the cuts, the frames are those that a reader
 * of the whole finds, and a fact holds only where the report says so. */
#include "backends/guest_runs/container/guest_stream.h"
#include "fuzz.h"

/* All payload in order, the kind before each byte of output and around each other frame. */
struct found {
    uint8_t *bytes;
    size_t length;
    bool refused;
};

static bool is_output(unsigned int kind)
{
    return kind == GUEST_STDOUT || kind == GUEST_STDERR || kind == GUEST_RESULTS ||
           kind == GUEST_FILES || kind == GUEST_LATE_STDOUT || kind == GUEST_LATE_STDERR ||
           kind == GUEST_ENDPOINTS;
}

static void add(struct found *found, unsigned int kind, const uint8_t *bytes, size_t length)
{
    if (!is_output(kind))
        found->bytes[found->length++] = (uint8_t)kind;
    for (size_t i = 0; i < length; i++) {
        found->bytes[found->length++] = (uint8_t)kind;
        found->bytes[found->length++] = bytes[i];
    }
}

/* The definition: 4 bytes of length, one of the kind, and as many as it says. */
static void read_plainly(const struct fuzz_input *input, struct found *ret)
{
    size_t at = 0;
    while (input->length - at >= GUEST_HEADER_LENGTH) {
        const uint8_t *header = input->bytes + at;
        size_t length =
            header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
        unsigned int kind = header[4];
        if (kind == 0 || kind >= GUEST_KIND_END ||
            length > (is_output(kind) ? GUEST_DATA_LIMIT : GUEST_CONTROL_LIMIT)) {
            ret->refused = true;
            return;
        }
        at += GUEST_HEADER_LENGTH;
        size_t there = input->length - at < length ? input->length - at : length;
        if (there == length || is_output(kind))
            add(ret, kind, input->bytes + at, there);
        at += there;
        if (there < length)
            return;
    }
}

static void read_slices(const struct fuzz_input *input, bool whole, struct found *ret)
{
    static struct guest_reader reader;
    size_t begin = 0;
    reader = (struct guest_reader){.left = 0};
    for (size_t i = 0; begin < input->length && !ret->refused; i++) {
        size_t left = input->length - begin;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        uint8_t *slice = fuzz_exact(input->bytes + begin, length);
        for (size_t at = 0; at < length && !ret->refused;) {
            struct guest_piece piece;
            ptrdiff_t taken = guest_reader_next(&reader, slice + at, length - at, &piece);
            ret->refused = taken < 0;
            if (ret->refused) { /* and so is whatever comes behind */
                MUST(guest_reader_next(&reader, slice, length, &piece) == -1 && piece.kind == 0);
                break;
            }
            MUST(taken > 0 && (size_t)taken <= length - at);
            if (piece.kind)
                add(ret, piece.kind, piece.bytes, piece.length);
            at += (size_t)taken;
        }
        free(slice);
        begin += length;
    }
}

static void check_facts(const struct fuzz_input *input)
{
    static const char *const marks[GUEST_FACT_COUNT] = {
        [GUEST_FACT_CAP_INHERITABLE] = "CapInh:\t0\n",
        [GUEST_FACT_CAP_PERMITTED] = "CapPrm:\t0",
        [GUEST_FACT_CAP_EFFECTIVE] = "CapEff:\t0",
        [GUEST_FACT_CAP_BOUNDING] = "CapBnd:\t0",
        [GUEST_FACT_CAP_AMBIENT] = "CapAmb:\t0",
        [GUEST_FACT_NO_NEW_PRIVILEGES] = "NoNewPrivs:\t1\n",
        [GUEST_FACT_SECCOMP] = "Seccomp:\t2\n",
        [GUEST_FACT_ORDINARY_USER] = "Uid:\t",
    };
    uint8_t *report = fuzz_exact(input->bytes, input->length);
    uint32_t facts = guest_facts_read(report, input->length);
    free(report);
    MUST((facts & ~GUEST_FACTS_ALL) == 0);
    for (size_t i = GUEST_FACT_CAP_PERMITTED; i < GUEST_FACT_COUNT; i++)
        if (facts & GUEST_FACT_BIT(i))
            MUST(memmem(input->bytes, input->length, marks[i], strlen(marks[i])) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    struct found found[3] = {{.length = 0}};
    for (size_t i = 0; i < 3; i++) {
        found[i].bytes = malloc(2 * input.length + 1);
        MUST(found[i].bytes != NULL);
    }
    read_plainly(&input, &found[0]);
    read_slices(&input, true, &found[1]);
    read_slices(&input, false, &found[2]);
    for (size_t i = 1; i < 3; i++) {
        MUST(found[i].refused == found[0].refused);
        MUST(found[i].length == found[0].length);
        MUST(memcmp(found[i].bytes, found[0].bytes, found[0].length) == 0);
    }
    for (size_t i = 0; i < 3; i++)
        free(found[i].bytes);
    check_facts(&input);
    return 0;
}
