/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in memory, hashed and copied with as little as it takes: what the files of a run are
 * measured beside. Prints "made".
 *     bench_copy COUNT MEBIBYTES copy|make
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

#define CHUNK_BYTES 65536

static unsigned char chunk[CHUNK_BYTES];

static bool fill(int file, size_t mebibytes)
{
    static const char zeroes[1 << 20];
    for (size_t i = 0; i < mebibytes; i++)
        if (write(file, zeroes, sizeof(zeroes)) != (ssize_t)sizeof(zeroes))
            return false;
    return lseek(file, 0, SEEK_SET) == 0;
}

static bool copy(int file)
{
    CLEANUP_CLOSE int other = memfd_create("copy", MFD_CLOEXEC);
    struct sha256 hash;
    char sum[SHA256_TEXT_LENGTH + 1];
    ssize_t length;
    sha256_begin(&hash);
    while ((length = read(file, chunk, sizeof(chunk))) > 0) {
        sha256_add(&hash, chunk, (size_t)length);
        if (write(other, chunk, (size_t)length) != length)
            return false;
    }
    sha256_end(&hash, sum);
    return length == 0;
}

int main(int argc, char **argv)
{
    int files[16];
    size_t count = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    size_t mebibytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    if (count == 0 || count > COUNT_OF(files) || mebibytes == 0)
        return 2;
    for (size_t i = 0; i < count; i++) {
        files[i] = memfd_create("file", MFD_CLOEXEC);
        if (files[i] < 0 || !fill(files[i], mebibytes))
            return 1;
    }
    for (size_t i = 0; i < count && strcmp(argv[3], "copy") == 0; i++)
        if (!copy(files[i]))
            return 1;
    return puts("made") < 0;
}
