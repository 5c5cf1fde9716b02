/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. Each target is one file with one entry point, linked with libFuzzer
 * (scripts/fuzz) or with fuzz_main.c, which runs it over files. An input begins with a line that
 * says how the rest is to be cut, one character a slice, over and over; an empty line: not at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define MUST(condition)                                                                   \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

struct fuzz_input {
    const uint8_t *bytes; /* what is fed */
    size_t length;
    const uint8_t *cuts; /* the first line */
    size_t cut_count;
};

static inline struct fuzz_input fuzz_split(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    size_t count = newline ? (size_t)(newline - data) : 0;
    size_t begin = newline ? count + 1 : 0;
    return (struct fuzz_input){
        .bytes = data + begin, .length = size - begin, .cuts = data, .cut_count = count};
}

/* The length of slice number index, at most left: "1" is one byte, "2" two, "a" 49. */
static inline size_t fuzz_slice(const struct fuzz_input *input, size_t index, size_t left)
{
    if (input->cut_count == 0)
        return left;
    size_t length = (uint8_t)(input->cuts[index % input->cut_count] - '0');
    if (length == 0)
        length = 1;
    return length < left ? length : left;
}

/* A copy that ends where its allocation does, so that a sanitizer sees whoever reads beyond. */
static inline uint8_t *fuzz_exact(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = calloc(length ? length : 1, 1);
    MUST(copy != NULL);
    if (length)
        memcpy(copy, bytes, length);
    return copy;
}
