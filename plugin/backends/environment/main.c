/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code-execute-environment installs the packages of an environment from an archive that a sandbox
 * has made, and verifies an installed one. The gateway starts it for one command; it reads a
 * stranger's bytes, so it is a process of its own, and confined. One thread.
 *     code-execute-environment install BYTES INODES    archive: descriptor 0, empty directory: 3
 *     code-execute-environment verify BYTES INODES     installed directory: descriptor 3
 * Exit status: 0 done, 1 refused or changed, 2 called wrongly or not confined. Standard output: one
 * line of JSON (answer.h).
 */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "backends/environment/commands.h"

enum { EXIT_NOT_BEGUN = 2 };

static bool read_number(const char *text, uint64_t *ret)
{
    char *end = NULL;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret = number;
    return true;
}

int main(int argc, char **argv)
{
    static struct outcome outcome;
    struct tree_limits limits;
    if (argc != 4 || !read_number(argv[2], &limits.bytes) || !read_number(argv[3], &limits.inodes))
        return EXIT_NOT_BEGUN;
    bool installs = strcmp(argv[1], "install") == 0;
    if (!installs && strcmp(argv[1], "verify") != 0)
        return EXIT_NOT_BEGUN;
    /* Paths of pax headers are UTF-8; libarchive converts them to the locale's encoding. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return EXIT_NOT_BEGUN;
    const char *kept = confinement_enter(installs, &limits);
    if (kept) {
        (void)error_set_errno(&outcome.error, ERROR_INTERNAL, errno, "%s cannot be given up", kept);
        (void)(installs ? answer_install(&outcome) : answer_verify(&outcome));
        return EXIT_NOT_BEGUN;
    }
    if (installs) {
        command_install(ARCHIVE_FD, DIRECTORY_FD, &limits, &outcome);
        return answer_install(&outcome);
    }
    command_verify(DIRECTORY_FD, &limits, &outcome);
    return answer_verify(&outcome);
}
