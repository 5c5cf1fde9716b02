/* SPDX-License-Identifier: Apache-2.0 */
/* collection: directories that no program of a test suite could make in time, or that the limits of
 * a sandbox do not allow. On a tmpfs, as a run's own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/files/collection.h"
#include "protocol/file_frames.h"
#include "tap_suite.h"

#define DEPTH        2000
#define LONG_DEPTH   10000
#define NAMES        100000
#define LONG_NAMES   1000000
#define FRAMES_LIMIT 16
#define TIME_LIMIT_S 120       /* on a busy machine */
#define FILE_SIZE    INT64_MAX /* 8 EiB but one byte: the most that a file system of Linux has */

struct frame {
    unsigned char kind;
    uint64_t size; /* of the file, or the bytes of files that are not named */
    uint64_t count;
    unsigned char reason;
    char path[64];
};

static bool is_long_form(void)
{
    const char *asked = getenv("CODE_EXECUTE_TEST_LONG");
    return asked && strcmp(asked, "1") == 0;
}

static char directory[] = "/dev/shm/test-collection-XXXXXX";
static int top = -1;

static void make_directory(void)
{
    (void)snprintf(directory, sizeof(directory), "%s", "/dev/shm/test-collection-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(top, 0);
}

static void remove_directory(void)
{
    close_fd(TAKE_FD(top));
    ck_assert_int_eq(rmdir(directory), 0);
}

static uint64_t number_at(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

static struct frame read_frame(const unsigned char *bytes, size_t length)
{
    const unsigned char *payload = bytes + FILE_FRAME_HEADER;
    struct frame frame = {.kind = bytes[4]};
    if (frame.kind == FILE_FRAME_OMITTED) {
        frame.size = number_at(payload, 8);
        frame.reason = payload[9];
        (void)snprintf(frame.path, sizeof(frame.path), "%.*s", (int)(length - FILE_FRAME_FIXED),
                       (const char *)payload + FILE_FRAME_FIXED);
    } else if (frame.kind == FILE_FRAME_FILES_OMITTED) {
        frame.count = number_at(payload, 8);
        frame.size = number_at(payload + 8, 8);
        frame.reason = payload[16];
    }
    return frame;
}

/* How many frames there are; the last one is the end. */
static size_t collect(uint64_t files, struct frame ret[FRAMES_LIMIT])
{
    const struct run_outputs outputs = {
        .files = files, .file_bytes = 1 << 20, .total_bytes = 1 << 20};
    const struct collection_order order = {.outputs = &outputs};
    CLEANUP_CLOSE int frames = memfd_create("frames", MFD_CLOEXEC);
    const struct file_frame_sink sink = file_frames_to_pipe(&frames);
    unsigned char bytes[8192];
    size_t count = 0;
    collect_files(top, &order, &sink);
    ssize_t length = pread(frames, bytes, sizeof(bytes), 0);
    ck_assert(length > 0 && (size_t)length < sizeof(bytes));
    for (size_t at = 0; at < (size_t)length;) {
        size_t payload = (size_t)number_at(&bytes[at], 4);
        ck_assert_uint_lt(count, FRAMES_LIMIT);
        ret[count++] = read_frame(&bytes[at], payload);
        at += FILE_FRAME_HEADER + payload;
    }
    ck_assert_uint_eq(ret[count - 1].kind, FILE_FRAME_LAST);
    return count;
}

START_TEST(sparse_files_of_8_eib)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct frame frames[FRAMES_LIMIT];
    make_directory();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP_CLOSE int file = openat(top, names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_eq(ftruncate(file, FILE_SIZE), 0);
    }
    ck_assert_uint_eq(collect(2, frames), 4);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(frames[i].path, names[i]);
        ck_assert_uint_eq(frames[i].size, FILE_SIZE);
        ck_assert_uint_eq(frames[i].reason, FILE_TOO_LARGE);
    }
    ck_assert_uint_eq(frames[2].count, 2);
    ck_assert_uint_eq(frames[2].size, UINT64_MAX - 1);
    ck_assert_uint_eq(frames[2].reason, FILE_TOO_MANY);
    ck_assert_uint_eq(collect(1, frames), 3);
    ck_assert_uint_eq(frames[1].count, 3);
    ck_assert_uint_eq(frames[1].size, UINT64_MAX); /* three of them are more than that */
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)unlinkat(top, names[i], 0);
    remove_directory();
}
END_TEST

/* Into the new directory below the one that fd is of, which is closed. */
static int descend(int fd)
{
    CLEANUP_CLOSE int upper = fd;
    ck_assert_int_eq(mkdirat(upper, "d", 0700), 0);
    int lower = openat(upper, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(lower, 0);
    return lower;
}

static int climb(int fd)
{
    CLEANUP_CLOSE int lower = fd;
    int upper = openat(lower, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(upper, 0);
    ck_assert_int_eq(unlinkat(upper, "d", AT_REMOVEDIR), 0);
    return upper;
}

START_TEST(directories_far_too_deep)
{
    int depth = is_long_form() ? LONG_DEPTH : DEPTH;
    struct frame frames[FRAMES_LIMIT];
    make_directory();
    int fd = dup(top);
    for (int i = 0; i < depth; i++)
        fd = descend(fd);
    CLEANUP_CLOSE int file = openat(fd, "bottom", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    ck_assert_uint_eq(collect(50, frames), 2);
    ck_assert_uint_eq(frames[0].kind, FILE_FRAME_FILES_OMITTED);
    ck_assert_uint_eq(frames[0].count, 1);
    ck_assert_uint_eq(frames[0].reason, FILE_TOO_DEEP);
    (void)unlinkat(fd, "bottom", 0);
    for (int i = 0; i < depth; i++)
        fd = climb(fd);
    close_fd(fd);
    remove_directory();
}
END_TEST

/* By its number. */
static const char *name_of(int number)
{
    static char name[16];
    (void)snprintf(name, sizeof(name), "%07d", number);
    return name;
}

/* Hard links: a million files of their own would be a gigabyte of the machine's memory. */
START_TEST(a_great_many_names)
{
    int names = is_long_form() ? LONG_NAMES : NAMES;
    struct frame frames[FRAMES_LIMIT];
    make_directory();
    CLEANUP_CLOSE int file = openat(top, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    for (int i = 0; i < names; i++)
        ck_assert_int_eq(linkat(top, "file", top, name_of(i), 0), 0);
    size_t count = collect(10, frames);
    ck_assert_uint_eq(count, 14); /* one file with its end, nine more names, the rest, the end */
    ck_assert_uint_eq(frames[0].kind, FILE_FRAME_BEGIN);
    for (size_t i = 2; i < 11; i++)
        ck_assert_uint_eq(frames[i].reason, FILE_SAME_FILE);
    ck_assert_uint_eq(frames[11].reason, FILE_TOO_MANY);
    ck_assert_uint_lt(frames[11].count, 20000); /* the search has looked at no more */
    ck_assert_uint_gt(frames[11].count, 1000);
    ck_assert_uint_eq(frames[12].reason, FILE_TOO_MANY);
    for (int i = 0; i < names; i++)
        (void)unlinkat(top, name_of(i), 0);
    (void)unlinkat(top, "file", 0);
    remove_directory();
}
END_TEST

/* Whatever they are of: to open one may have an effect, and to read one may never end. */
START_TEST(devices_pipes_and_sockets)
{
    struct frame frames[FRAMES_LIMIT];
    static const struct {
        const char *name;
        mode_t kind;
    } nodes[] = {{"block", S_IFBLK}, {"fifo", S_IFIFO}, {"socket", S_IFSOCK}, {"zero", S_IFCHR}};
    size_t made = 0;
    make_directory();
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        made += mknodat(top, nodes[i].name, nodes[i].kind | 0600, makedev(1, 5)) == 0;
    ck_assert_uint_ge(made, 2);
    if (made < COUNT_OF(nodes))
        (void)printf("# no device nodes: to make one takes root\n");
    ck_assert_uint_eq(collect(10, frames), made + 1);
    for (size_t i = 0; i < made; i++) {
        ck_assert_uint_eq(frames[i].kind, FILE_FRAME_OMITTED);
        ck_assert_uint_eq(frames[i].reason, FILE_NOT_REGULAR);
    }
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        (void)unlinkat(top, nodes[i].name, 0);
    remove_directory();
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("collection")};
    tcase_set_timeout(parts[0], TIME_LIMIT_S);
    tcase_add_test(parts[0], sparse_files_of_8_eib);
    tcase_add_test(parts[0], directories_far_too_deep);
    tcase_add_test(parts[0], a_great_many_names);
    tcase_add_test(parts[0], devices_pipes_and_sockets);
    return run_suite("collection", parts, COUNT_OF(parts));
}
