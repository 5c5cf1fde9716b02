/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a guest's frames and facts: see guest_stream.h. Runs in a backend of
 * containers.
 */
#include "backends/guest_runs/container/guest_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LANDLOCK_DIGITS 4

static bool take_header(struct guest_reader *reader)
{
    struct wire_reader header = {.bytes = reader->header, .length = sizeof(reader->header)};
    uint32_t length = wire_get_u32(&header);
    unsigned char kind = reader->header[sizeof(length)];
    if (kind == 0 || kind >= GUEST_KIND_END)
        return false;
    reader->kind = (enum guest_kind)kind;
    reader->left = length;
    reader->payload_length = 0;
    return length <= (guest_kind_is_stream(reader->kind) ? GUEST_DATA_LIMIT : GUEST_CONTROL_LIMIT);
}

/* The next bytes of the frame under way. */
static size_t take_payload(struct guest_reader *reader, const unsigned char *bytes, size_t length,
                           struct guest_piece *ret)
{
    size_t count = length < reader->left ? length : reader->left;
    reader->left -= (uint32_t)count;
    if (guest_kind_is_stream(reader->kind)) {
        *ret = (struct guest_piece){.kind = reader->kind, .bytes = bytes, .length = count};
    } else {
        memcpy(reader->payload + reader->payload_length, bytes, count);
        reader->payload_length += count;
        if (reader->left == 0)
            *ret = (struct guest_piece){
                .kind = reader->kind, .bytes = reader->payload, .length = reader->payload_length};
    }
    if (reader->left == 0)
        reader->header_length = 0;
    return count;
}

ptrdiff_t guest_reader_next(struct guest_reader *reader, const unsigned char *bytes, size_t length,
                            struct guest_piece *ret)
{
    size_t taken = 0;
    *ret = (struct guest_piece){.length = 0};
    if (reader->is_broken)
        return -1;
    if (reader->header_length < GUEST_HEADER_LENGTH) {
        size_t missing = GUEST_HEADER_LENGTH - reader->header_length;
        taken = length < missing ? length : missing;
        memcpy(reader->header + reader->header_length, bytes, taken);
        reader->header_length += taken;
        if (reader->header_length < GUEST_HEADER_LENGTH)
            return (ptrdiff_t)taken;
        reader->is_broken = !take_header(reader);
        if (reader->is_broken)
            return -1;
    }
    return (ptrdiff_t)(taken + take_payload(reader, bytes + taken, length - taken, ret));
}

/* Four ids, none of them 0. */
static bool is_ordinary_user(const char *value)
{
    int count = 0;
    for (; *value; value += *value == '\t') {
        size_t length = strcspn(value, "\t");
        if (length == 0 || strspn(value, "0123456789") != length || strspn(value, "0") == length)
            return false;
        value += length;
        count++;
    }
    return count == 4;
}

static const struct {
    const char *key;
    const char *value; /* "0" may have more digits, all of them 0; NULL: an ordinary user */
} facts[GUEST_FACT_COUNT] = {
    [GUEST_FACT_CAP_INHERITABLE] = {"CapInh:\t", "0"},
    [GUEST_FACT_CAP_PERMITTED] = {"CapPrm:\t", "0"},
    [GUEST_FACT_CAP_EFFECTIVE] = {"CapEff:\t", "0"},
    [GUEST_FACT_CAP_BOUNDING] = {"CapBnd:\t", "0"},
    [GUEST_FACT_CAP_AMBIENT] = {"CapAmb:\t", "0"},
    [GUEST_FACT_NO_NEW_PRIVILEGES] = {"NoNewPrivs:\t", "1"},
    [GUEST_FACT_SECCOMP] = {"Seccomp:\t", "2"}, /* SECCOMP_MODE_FILTER */
    [GUEST_FACT_ORDINARY_USER] = {"Uid:\t", NULL},
    [GUEST_FACT_GVISOR] = {GUEST_KERNEL, GUEST_KERNEL_GVISOR},
};

static bool fact_holds(size_t fact, const char *value)
{
    const char *wanted = facts[fact].value;
    if (!wanted)
        return is_ordinary_user(value);
    if (strcmp(wanted, "0") == 0)
        return value[0] && value[strspn(value, "0")] == '\0';
    return strcmp(value, wanted) == 0;
}

static uint32_t facts_of_line(const char *line)
{
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        size_t length = strlen(facts[i].key);
        if (strncmp(line, facts[i].key, length) == 0)
            return fact_holds(i, line + length) ? GUEST_FACT_BIT(i) : 0;
    }
    return 0;
}

uint32_t guest_facts_read(const unsigned char *report, size_t length)
{
    char line[128];
    uint32_t found = 0;
    const unsigned char *end;
    for (; (end = memchr(report, '\n', length)); report = end + 1) {
        size_t line_length = (size_t)(end - report);
        length -= line_length + 1;
        if (line_length >= sizeof(line) || memchr(report, '\0', line_length))
            continue;
        *(char *)mempcpy(line, report, line_length) = '\0';
        found |= facts_of_line(line);
    }
    return found;
}

bool guest_facts_suffice(uint32_t found)
{
    if (found & GUEST_FACT_BIT(GUEST_FACT_GVISOR))
        found |= GUEST_FACT_BIT(GUEST_FACT_SECCOMP);
    return (found & GUEST_FACTS_ALL) == GUEST_FACTS_ALL;
}

uint32_t guest_facts_landlock(const unsigned char *report, size_t length)
{
    static const char name[] = "\nLandlock:\t";
    char text[GUEST_OWN_FACTS_LIMIT] = "";
    const unsigned char *line = memmem(report, length, name, sizeof(name) - 1);
    size_t left = line ? length - (size_t)(line - report) - (sizeof(name) - 1) : 0;
    if (left == 0)
        return 0;
    memcpy(text, line + sizeof(name) - 1, left < sizeof(text) - 1 ? left : sizeof(text) - 1);
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= LANDLOCK_DIGITS && text[digits] == '\n'
               ? (uint32_t)strtoul(text, NULL, 10)
               : 0;
}

/* Lines ahead of the guest's own begin with names of the kernel's, which has none of that name. */
bool guest_facts_are_of(const unsigned char *report, size_t length, const char *digest)
{
    char line[GUEST_OWN_FACTS_LIMIT];
    int line_length = snprintf(line, sizeof(line), "\n" GUEST_DIGEST "%s\n", digest);
    return line_length > 0 && (size_t)line_length < sizeof(line) &&
           memmem(report, length, line, (size_t)line_length);
}
