/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a file of workers: see discovery.h. Pure code. */
#include <string.h>

#include "backends/remote/client/discovery.h"

int discovery_parse(char *text, struct remote_place *ret, int *ret_line)
{
    int count = 0;
    *ret_line = 0;
    for (char *line = text; line;) {
        char *end = strchr(line, '\n');
        (*ret_line)++;
        if (end)
            *end = '\0';
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] != '\0') {
            if (count == REMOTE_WORKERS_MOST || !remote_place_parse(line, &ret[count]))
                return -1;
            count++;
        }
        line = end ? end + 1 : NULL;
    }
    return count;
}
