/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of a directory, a TAP case each, for builds without libFuzzer.
 * A target that is violated aborts, and the cases that are missing then fail the test.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "fuzz.h"

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_file(const char *directory, const char *name)
{
    char path[4096];
    struct stat facts;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    MUST(file && fstat(fileno(file), &facts) == 0);
    size_t size = (size_t)facts.st_size;
    CLEANUP_FREE uint8_t *bytes = malloc(size ? size : 1);
    MUST(bytes && fread(bytes, 1, size, file) == size);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int count = argc == 2 ? scandir(argv[1], &entries, is_file, alphasort) : -1;
    if (count <= 0) {
        (void)fprintf(stderr, "usage: run_TARGET DIRECTORY, with files in it\n");
        return EXIT_FAILURE;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        run_file(argv[1], entries[i]->d_name);
        printf("ok %d - %s\n", i + 1, entries[i]->d_name);
        (void)fflush(stdout);
        free(entries[i]);
    }
    free(entries);
    return EXIT_SUCCESS;
}
