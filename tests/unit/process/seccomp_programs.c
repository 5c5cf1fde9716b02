/* SPDX-License-Identifier: Apache-2.0 */
/* Writes process mode's filters, as the kernel takes them, into the three files of its arguments:
 * the list, the guard without a network, the guard with one. */
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
    return write_program(paths[0], &filters->list) < 0 ||
           write_program(paths[1], &filters->guard[0]) < 0 ||
           write_program(paths[2], &filters->guard[1]) < 0;
}

int main(int argc, char **argv)
{
    struct seccomp_filters filters;
    if (argc != 4 || seccomp_filters_make(&filters) < 0)
        return 1;
    int status = write_all(argv + 1, &filters);
    free(filters.list.instructions);
    free(filters.guard[0].instructions);
    free(filters.guard[1].instructions);
    return status;
}
