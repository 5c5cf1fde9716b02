/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a test in Python redact what real programs have printed. Reads lines of a secret and an
 * output, both in hexadecimal; answers each with the redacted output in hexadecimal, once it is the
 * same wherever a read ends. Single-threaded program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "redaction/redaction.h"

#define OUTPUT_LIMIT 65536

struct text {
    unsigned char bytes[OUTPUT_LIMIT];
    size_t length;
};

static void append(void *user, const void *bytes, size_t length)
{
    struct text *text = user;
    if (length > sizeof(text->bytes) - text->length)
        exit(2);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void read_hex(const char *digits, struct text *ret)
{
    ret->length = 0;
    for (; digits && digits[0] != '\0' && digits[1] != '\0'; digits += 2) {
        char pair[] = {digits[0], digits[1], '\0'};
        char *end = NULL;
        unsigned char byte = (unsigned char)strtoul(pair, &end, 16);
        if (*end != '\0')
            exit(2);
        append(ret, &byte, 1);
    }
}

static void redact(const struct redaction *redaction, const struct text *output, size_t split,
                   struct text *ret)
{
    struct redaction_stream stream = {.redaction = redaction};
    ret->length = 0;
    if (split > 0)
        redaction_feed(&stream, output->bytes, split, append, ret);
    redaction_feed(&stream, output->bytes + split, output->length - split, append, ret);
    redaction_flush(&stream, append, ret);
}

static void answer(const struct text *secret, const struct text *output)
{
    static struct text whole;
    static struct text split_text;
    struct error error;
    struct redaction *redaction = redaction_new();
    if (!redaction || !redaction_add(redaction, "x", secret->bytes, secret->length, &error))
        exit(2);
    redact(redaction, output, 0, &whole);
    for (size_t split = 1; split < output->length; split++) {
        redact(redaction, output, split, &split_text);
        if (split_text.length != whole.length ||
            memcmp(split_text.bytes, whole.bytes, whole.length) != 0)
            exit(3);
    }
    redaction_free(redaction);
    for (size_t i = 0; i < whole.length; i++)
        printf("%02x", whole.bytes[i]);
    printf("\n");
}

int main(void)
{
    static struct text secret;
    static struct text output;
    CLEANUP_FREE char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *place = line;
        read_hex(strsep(&place, " "), &secret);
        read_hex(place, &output);
        answer(&secret, &output);
    }
    return 0;
}
