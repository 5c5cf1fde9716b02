/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the writing to shared pages ahead of need: see copy_on_write.h. */
#include "backends/process/python/copy_on_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_fully.h"

#define OWN_LIMIT \
    ((size_t)23 << 18) /* bytes; 6 MiB with the pages that a copy has written to by then */
#define READ_LIMIT ((size_t)32 << 20)

#define MAPS_LIMIT    65536 /* bytes of /proc/self/maps that are looked at */
#define NOTED_LIMIT   1024  /* mappings of the original's, some 700 are in so many bytes */
#define RANGES_LIMIT  2048  /* of pages that follow each other */
#define GAP_PAGES     1     /* another program writes to other pages near by */
#define PAGES_AT_ONCE 512   /* of /proc/self/pagemap */
#define PAGES_OF_ONE  65536 /* mapping that are looked at */

/* For a cell: most write to some 200 pages of the interpreter's own, the same ones each time. */
#define CELL_LIMIT ((size_t)5 << 18)
#define CELL_STEP  ((size_t)16 << 10) /* bytes at once: what waits for it waits no longer */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22 /* Linux 5.14, madvise(2) */
#define MADV_POPULATE_WRITE 23
#endif

/* "Pagemap" of the kernel's Documentation/admin-guide/mm: the page is present and mapped by this
 * process alone. After a fork that is true of the pages written to since. */
#define PAGE_IS_OWN ((UINT64_C(1) << 63) | (UINT64_C(1) << 56))

struct mapping {
    uintptr_t start;
    size_t length;
    bool writable;
};

static struct mapping learnt[RANGES_LIMIT];
static size_t learnt_count;
static size_t count_before; /* the mapping that is looked at */
static size_t gap_pages = GAP_PAGES;

static struct mapping noted[NOTED_LIMIT]; /* as the original had them */
static size_t noted_count;

/* "START-END rwxp OFFSET DEVICE INODE PATH" of a mapping that is readable and not shared, and of a
 * file where it is not writable. */
static bool parse_mapping(const char *line, struct mapping *ret)
{
    char *end;
    errno = 0;
    uintptr_t start = strtoul(line, &end, 16);
    if (errno != 0 || *end != '-')
        return false;
    uintptr_t stop = strtoul(end + 1, &end, 16);
    if (errno != 0 || stop <= start || strncmp(end, " r", 2) != 0 || end[4] != 'p')
        return false;
    *ret = (struct mapping){.start = start, .length = stop - start, .writable = end[2] == 'w'};
    return ret->writable || strchr(end, '/');
}

/* Up to the limit, which it lowers. */
static void populate(const struct mapping *mapping, int advice, size_t *limit)
{
    size_t length = mapping->length < *limit ? mapping->length : *limit & ~(size_t)4095;
    *limit -= length;
    /* From a number that the kernel has given. */
    if (length > 0)
        (void)madvise((void *)mapping->start, length, advice); // NOLINT(performance-no-int-to-ptr)
}

/* As much as fits, not terminated. */
static size_t read_maps(char *maps, size_t size)
{
    CLEANUP_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t received = 0;
    while (fd >= 0 && length < size && (received = read(fd, maps + length, size - length)) > 0)
        length += (size_t)received;
    return length;
}

static void note_page(uintptr_t start, size_t size)
{
    struct mapping *last = learnt_count > count_before ? &learnt[learnt_count - 1] : NULL;
    if (last && start - (last->start + last->length) <= gap_pages * size)
        last->length = start + size - last->start;
    else if (learnt_count < RANGES_LIMIT)
        learnt[learnt_count++] = (struct mapping){.start = start, .length = size, .writable = true};
}

static void note_owned_pages(int pagemap, const struct mapping *mapping)
{
    static uint64_t pages[PAGES_AT_ONCE];
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    size_t count = mapping->length / size;
    size_t first = mapping->start / size;
    for (size_t done = 0; done < count && done < PAGES_OF_ONE;) {
        size_t wanted = count - done < PAGES_AT_ONCE ? count - done : PAGES_AT_ONCE;
        ssize_t length = pread(pagemap, pages, wanted * sizeof(pages[0]),
                               (off_t)((first + done) * sizeof(pages[0])));
        if (length <= 0)
            return;
        for (size_t i = 0; i < (size_t)length / sizeof(pages[0]); i++)
            if ((pages[i] & PAGE_IS_OWN) == PAGE_IS_OWN)
                note_page((first + done + i) * size, size);
        done += (size_t)length / sizeof(pages[0]);
    }
}

/* Calls back for each mapping of interest. */
static void for_each_mapping(void (*call)(void *user, const struct mapping *mapping), void *user)
{
    static char maps[MAPS_LIMIT + 1];
    maps[read_maps(maps, MAPS_LIMIT)] = '\0';
    char *rest;
    for (char *line = strtok_r(maps, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct mapping mapping;
        if (parse_mapping(line, &mapping))
            call(user, &mapping);
    }
}

static void note_mapping(void *user, const struct mapping *mapping)
{
    const int *pagemap = user;
    count_before = learnt_count;
    if (mapping->writable)
        note_owned_pages(*pagemap, mapping);
}

static void learn_written(void)
{
    CLEANUP_CLOSE int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    learnt_count = 0;
    if (pagemap >= 0)
        for_each_mapping(note_mapping, &pagemap);
}

void cow_send_written(int fd)
{
    learn_written();
    (void)write_fully(fd, learnt, learnt_count * sizeof(learnt[0]));
}

/* After a failed read nothing has been learnt. */
void cow_receive_written(int fd)
{
    char *bytes = (char *)learnt;
    size_t length = 0;
    ssize_t count;
    while (length < sizeof(learnt) &&
           (count = read(fd, bytes + length, sizeof(learnt) - length)) > 0)
        length += (size_t)count;
    learnt_count = length / sizeof(learnt[0]);
}

static void note_one(void *user, const struct mapping *mapping)
{
    (void)user;
    if (noted_count < NOTED_LIMIT)
        noted[noted_count++] = *mapping;
}

void cow_note_mappings(void)
{
    if (noted_count == 0)
        for_each_mapping(note_one, NULL);
}

/* A copy has the original's mappings at the same addresses. Of one that is not there any more the
 * kernel says so. */
void cow_prefault(int supervisor)
{
    size_t own = OWN_LIMIT;
    size_t read = READ_LIMIT;
    struct pollfd run = {.fd = supervisor, .events = POLLIN};
    if (poll(&run, 1, 0) != 0)
        return;
    for (size_t i = 0; i < learnt_count; i++)
        populate(&learnt[i], MADV_POPULATE_WRITE, &own);
    for (size_t i = 0; i < noted_count; i++)
        if (!noted[i].writable)
            populate(&noted[i], MADV_POPULATE_READ, &read);
        else if (learnt_count == 0)
            populate(&noted[i], MADV_POPULATE_WRITE, &own);
}

void cow_learn_cell(void)
{
    gap_pages = 0;
    learn_written();
}

void cow_prefault_cell(int until)
{
    struct pollfd over = {.fd = until, .events = POLLIN};
    size_t limit = CELL_LIMIT;
    for (size_t i = 0; i < learnt_count; i++) {
        struct mapping rest = learnt[i];
        while (rest.length > 0) {
            if (limit == 0 || poll(&over, 1, 0) != 0)
                return;
            struct mapping step = rest;
            step.length = rest.length < CELL_STEP ? rest.length : CELL_STEP;
            populate(&step, MADV_POPULATE_WRITE, &limit);
            rest.start += step.length;
            rest.length -= step.length;
        }
    }
}
