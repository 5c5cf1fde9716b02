/* SPDX-License-Identifier: Apache-2.0 */
/* Writes process mode's filters, as the kernel takes them, into the three files of its arguments:
 * the lists without and with attributes, and the guards in the order of enum seccomp_guard. */
#include <stdio.h>
#include <stdlib.h>

#include "backends/process/supervisor/filter/seccomp_filter.h"

static int write_program(const char *path, const struct seccomp_program *program)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    size_t written =
        fwrite(program->instructions, sizeof(*program->instructions), program->count, file);
    return fclose(file) == 0 && written == program->count ? 0 : -1;
}

static int write_all(char *const *paths, const struct seccomp_filters *filters)
{
    int result = write_program(paths[0], &filters->list) |
                 write_program(paths[1], &filters->list_with_attributes);
    for (int i = 0; i < SECCOMP_GUARD_COUNT; i++)
        result |= write_program(paths[2 + i], &filters->guard[i]);
    return result < 0;
}

int main(int argc, char **argv)
{
    struct seccomp_filters filters;
    if (argc != 3 + SECCOMP_GUARD_COUNT || seccomp_filters_make(&filters) < 0)
        return 1;
    int status = write_all(argv + 1, &filters);
    free(filters.list.instructions);
    free(filters.list_with_attributes.instructions);
    for (int i = 0; i < SECCOMP_GUARD_COUNT; i++)
        free(filters.guard[i].instructions);
    return status;
}
