/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the look at the memory of a process: see process_memory.h. */
#include "backends/process/program/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FACTS_LENGTH 2048
#define PATH_LENGTH  48

/* The sum of such lines of a file, in bytes. A line that is not there, as of what has ended, is 0.
 */
static uint64_t sum_lines(const char *facts, const char *const *names)
{
    uint64_t sum = 0;
    for (; *names; names++) {
        uint64_t kilobytes = 0;
        const char *line = strstr(facts, *names);
        if (line && sscanf(line + strlen(*names), " %" SCNu64, &kilobytes) == 1)
            sum += kilobytes;
    }
    return sum * 1024;
}

static void name_of(pid_t pid, const char *name, char ret[PATH_LENGTH])
{
    (void)snprintf(ret, PATH_LENGTH, "/proc/%d/%s", (int)pid, name);
}

/* A file of a process in /proc, as text. */
static bool read_facts(pid_t pid, const char *name, char ret[FACTS_LENGTH])
{
    char path[PATH_LENGTH];
    name_of(pid, name, path);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, ret, FACTS_LENGTH - 1);
    if (length < 0)
        return false;
    ret[length] = '\0';
    return true;
}

bool process_memory_whole(pid_t pid, uint64_t *ret_bytes)
{
    static const char *const names[] = {"\nRssAnon:", "\nRssShmem:", "\nVmPTE:", "\nVmSwap:", NULL};
    char facts[FACTS_LENGTH];
    if (!read_facts(pid, "status", facts))
        return false;
    *ret_bytes = sum_lines(facts, names);
    return true;
}

bool process_memory_peak(pid_t pid, uint64_t *ret_bytes)
{
    static const char *const names[] = {"\nVmHWM:", NULL};
    char facts[FACTS_LENGTH];
    if (!read_facts(pid, "status", facts))
        return false;
    *ret_bytes = sum_lines(facts, names);
    return *ret_bytes > 0;
}

bool process_memory_inherited(struct inheritance *ret)
{
    static const char *const common[] = {"\nRssAnon:", "\nRssShmem:", "\nVmSwap:", NULL};
    static const char *const resident[] = {"\nVmHWM:", NULL};
    static const char *const data[] = {"\nVmData:", NULL};
    char facts[FACTS_LENGTH];
    if (!read_facts(getpid(), "status", facts))
        return false;
    *ret = (struct inheritance){
        .memory_bytes = sum_lines(facts, common),
        .resident_bytes = sum_lines(facts, resident),
        .data_bytes = sum_lines(facts, data),
    };
    return true;
}

/* Private pages of files are among it, but it is no more than the process's part of all. */
static uint64_t own_pages(const char *facts, uint64_t part, const struct inheritance *inheritance)
{
    static const char *const whole_names[] = {"\nAnonymous:", NULL};
    static const char *const private_names[] = {"\nPrivate_Clean:", "\nPrivate_Dirty:", NULL};
    uint64_t whole = sum_lines(facts, whole_names);
    uint64_t own = sum_lines(facts, private_names);
    /* A child that has come since would have the rest: no more of it than there can be. */
    if (whole > own + inheritance->memory_bytes)
        own = whole - inheritance->memory_bytes;
    return own < part ? own : part;
}

bool process_memory_part(pid_t pid, const struct inheritance *inheritance, struct memory_part *ret)
{
    static const char *const part_names[] = {"\nPss_Anon:", NULL};
    static const char *const other_names[] = {"\nPss_Shmem:", "\nSwapPss:", NULL};
    static const char *const tables[] = {"\nVmPTE:", NULL};
    char facts[FACTS_LENGTH];
    char status[FACTS_LENGTH];
    if (!read_facts(pid, "smaps_rollup", facts) || !strstr(facts, part_names[0]) ||
        !read_facts(pid, "status", status))
        return false;
    uint64_t part = sum_lines(facts, part_names);
    uint64_t others = sum_lines(facts, other_names) + sum_lines(status, tables);
    *ret = (struct memory_part){.bytes = part + others,
                                .own_bytes = own_pages(facts, part, inheritance) + others};
    return true;
}

/* The one fact that /proc lets others write into a memory: what a core file would hold, which no
 * program of a run gets to write, nor to read this. */
#define MARK_NAME "coredump_filter"
#define MARK      UINT32_C(0x1) /* a bit of it */

static bool read_mark(pid_t pid, uint32_t *ret)
{
    char facts[FACTS_LENGTH];
    char *end;
    if (!read_facts(pid, MARK_NAME, facts))
        return false;
    errno = 0;
    unsigned long mark = strtoul(facts, &end, 16);
    if (end == facts || errno != 0 || mark > UINT32_MAX)
        return false;
    *ret = (uint32_t)mark;
    return true;
}

static bool write_mark(pid_t pid, uint32_t mark)
{
    char path[PATH_LENGTH];
    char text[16];
    name_of(pid, MARK_NAME, path);
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    int length = snprintf(text, sizeof(text), "%#x\n", mark);
    return fd >= 0 && write(fd, text, (size_t)length) == length;
}

bool process_memory_is_common(pid_t pid, pid_t other)
{
    uint32_t mark;
    uint32_t before;
    uint32_t after;
    if (!read_mark(pid, &mark) || !read_mark(other, &before) || mark != before ||
        !write_mark(pid, mark ^ MARK))
        return false;
    bool is_common = read_mark(other, &after) && after != before;
    (void)write_mark(pid, mark);
    return is_common;
}
