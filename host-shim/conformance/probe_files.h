/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe's files: one that it lists and opens for the provider, and those that it is given to
 * keep. Under the control of a case, as all of the probe is.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROBE_FILE_REF     "conformance-ref"
#define PROBE_FILE_CONTENT "conformance-file-content\n"
#define PROBE_FILE_SIZE    (sizeof(PROBE_FILE_CONTENT) - 1)
#define PROBE_FILE_CONTEXT                                             \
    "{\"files\":[{\"ref\":\"" PROBE_FILE_REF "\",\"name\":\"in.txt\"," \
    "\"size\":25}]}"
#define PROBE_FILES_LIMIT 8 /* descriptors that are remembered */
#define PROBE_URI         "conformance:kept"

/* What open_file gives a descriptor of. */
enum probe_file_kind {
    PROBE_FILE_REGULAR,
    PROBE_FILE_PIPE,
    PROBE_FILE_DIRECTORY,
    PROBE_FILE_WRITE_ONLY,
    PROBE_FILE_KINDS
};

/* A descriptor as it was when the provider got it: its number may be another file's since. */
struct probe_descriptor {
    int number;
    dev_t device;
    ino_t inode;
};

/* The behaviour of open_file, and what came of it. */
struct probe_open {
    enum probe_file_kind kind;
    uint64_t size; /* as it is told */
    uint32_t verdict;
    unsigned asked; /* calls of it so far */
    size_t given_count;
    struct probe_descriptor given[PROBE_FILES_LIMIT];
};

/* The same of store_file. */
struct probe_store {
    size_t reported; /* the length of the name that it tells; 0: of PROBE_URI */
    uint32_t verdict;
    unsigned asked;
    bool wrong; /* a descriptor was not as the ABI has it, or another file than described */
    struct probe_descriptor lent;
};

/* The callbacks' work. */
void probe_open_answer(struct probe_open *open, int32_t *descriptor, uint64_t *size,
                       uint32_t *verdict);
void probe_store_answer(struct probe_store *store, const char *file_json, int descriptor, char *uri,
                        size_t capacity, size_t *length, uint32_t *verdict);

/* Whether it is open, and still of that file. */
bool probe_descriptor_is_open(const struct probe_descriptor *descriptor);
/* How many of those that were given are. */
size_t probe_open_left(const struct probe_open *open);
/* Closes them. */
void probe_open_clear(struct probe_open *open);
