/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for what is left of runs: see remains.h. */
#include "remains.h"

#include <stdio.h>

#include "../../plugin/backends/process/sandbox_stock.h"

bool has_children(pid_t supervisor)
{
    char path[64];
    int child;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)supervisor,
                   (int)supervisor);
    FILE *file = fopen(path, "re");
    bool found = file && fscanf(file, "%d", &child) == 1;
    if (file)
        (void)fclose(file);
    return found;
}

static int count_directories(const char *pattern, pid_t supervisor)
{
    char command[256];
    int found = -1;
    (void)snprintf(command, sizeof(command),
                   "find /sys/fs/cgroup -path '*/code-execute-%d%s' -type d 2>/dev/null | wc -l",
                   (int)supervisor, pattern);
    FILE *lines = popen(command, "re"); /* NOLINT(cert-env33-c): a fixed command of the test */
    if (!lines || fscanf(lines, "%d", &found) != 1)
        found = -1;
    if (lines)
        (void)pclose(lines);
    return found;
}

bool has_groups_of_runs(pid_t supervisor)
{
    int groups = count_directories("/*", supervisor);
    return groups != 0 && groups != STOCK_LIMIT * count_directories("", supervisor);
}

size_t count_mounts(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    size_t lines = 0;
    for (int byte; file && (byte = fgetc(file)) != EOF;)
        lines += byte == '\n';
    if (file)
        (void)fclose(file);
    return lines;
}
