/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the place of the socket of cells: see cell.h. Runs in the program of a session. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "interpreter/cell/cell.h"
#include "protocol/run_description.h"

int cell_socket_take(void)
{
    struct stat status;
    if (fstat(STDIN_FILENO, &status) < 0 || !S_ISSOCK(status.st_mode))
        return -1;
    int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, RUN_RESULTS_FD + 1);
    CLEANUP_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (socket < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        _exit(1); /* a program that reads its cells from there must not begin */
    cell_places_note();
    return socket;
}
