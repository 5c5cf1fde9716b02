/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the copying of programs: see copied_program.h. */
#include "copied_program.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

void copy_program(const char *program, char *place)
{
    char block[65536];
    CLEANUP_CLOSE int source = open(program, O_RDONLY | O_CLOEXEC);
    char *name = strrchr(place, '/');
    *name = '\0';
    bool made = mkdtemp(place) != NULL && chmod(place, 0755) == 0;
    *name = '/';
    CLEANUP_CLOSE int copy = made ? open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755) : -1;
    ssize_t length;
    while ((length = read(source, block, sizeof(block))) > 0)
        made = made && write(copy, block, (size_t)length) == length;
    if (!made || length < 0 || fchmod(copy, 0755) < 0) {
        perror(program);
        exit(1);
    }
}

void remove_copied_program(char *place)
{
    (void)unlink(place);
    *strrchr(place, '/') = '\0';
    (void)rmdir(place);
}
