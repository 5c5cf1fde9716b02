/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the directories of a session's program: see cell.h. Runs in that program. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interpreter/cell/cell.h"
#include "protocol/run_description.h"

static char home[PATH_MAX]; /* "": there are mounts */
static char temporary[PATH_MAX + sizeof("/" RUN_TEMPORARY_NAME)];

void cell_places_note(void)
{
    char directory[sizeof(home)];
    if (!getcwd(directory, sizeof(directory)) || strcmp(directory, RUN_HOME) == 0)
        return;
    char *slash = strrchr(directory, '/');
    (void)snprintf(home, sizeof(home), "%s", directory);
    if (slash)
        *slash = '\0';
    (void)snprintf(temporary, sizeof(temporary), "%s/" RUN_TEMPORARY_NAME, directory);
}

bool cell_has_mounts(void)
{
    return !home[0];
}

const char *cell_home(void)
{
    return home[0] ? home : RUN_HOME;
}

const char *cell_temporary(void)
{
    return home[0] ? temporary : "/tmp";
}
