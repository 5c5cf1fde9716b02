/* SPDX-License-Identifier: Apache-2.0 */
/* The archive of a set of packages: what is in it, whose hash it tells, and what it refuses. */
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/docker/image/package_archive.h"
#include "backends/docker/image/tar_header.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define PLACE "set"
#define LONG                                                                                     \
    "long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_" \
    "long_long"
#define ARCHIVE_LIMIT (1U << 20)

static char directory[] = "/tmp/code-execute-packages-XXXXXX";
static int content = -1;
static const struct tree_limits ample = {1U << 20, 100};

static void write_file(const char *name, const char *text, mode_t mode)
{
    CLEANUP_CLOSE int fd = openat(content, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
}

static void remove_all(void)
{
    static const char *const names[] = {"a/one", "a-b", "link", "more", "run", LONG "/" LONG};
    if (fchmod(content, 0755) != 0 || fchmodat(content, "a", 0755, 0) != 0 ||
        fchmodat(content, LONG, 0755, 0) != 0)
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)unlinkat(content, names[i], 0);
    (void)unlinkat(content, "a", AT_REMOVEDIR);
    (void)unlinkat(content, LONG, AT_REMOVEDIR);
}

static void make_all(void)
{
    (void)stpcpy(directory + strlen(directory) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    content = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(content, 0);
    ck_assert_int_eq(mkdirat(content, "a", 0755), 0);
    ck_assert_int_eq(mkdirat(content, LONG, 0755), 0);
    write_file("a/one", "1", 0444);
    write_file("a-b", "", 0444);
    write_file("run", "#!/bin/sh\n", 0555);
    write_file(LONG "/" LONG, "far", 0444);
    ck_assert_int_eq(symlinkat("a/one", content, "link"), 0);
    ck_assert_int_eq(fchmodat(content, "a", 0555, 0), 0);
    ck_assert_int_eq(fchmodat(content, LONG, 0555, 0), 0);
    ck_assert_int_eq(fchmod(content, 0555), 0);
}

static void clear_all(void)
{
    remove_all();
    (void)rmdir(directory);
    close_fd(TAKE_FD(content));
}

static void close_archive(struct package_archive **archive)
{
    package_archive_close(*archive);
}

/* All of it, in pieces of that size; 0: it has failed. */
static size_t read_all(struct package_archive *archive, unsigned char *bytes, size_t piece)
{
    size_t length = 0;
    ssize_t count;
    while ((count = package_archive_read(archive, bytes + length, piece)) > 0) {
        length += (size_t)count;
        ck_assert_uint_lt(length + piece, ARCHIVE_LIMIT);
    }
    return count < 0 ? 0 : length;
}

static void hash_of(const char *text, char ret[SHA256_DIGEST_STRING_LENGTH])
{
    (void)SHA256Data((const unsigned char *)text, strlen(text), ret);
}

static const char inventory[] =
    "d a\n"
    "f 1 6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b a/one\n"
    "f 0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 a-b\n"
    "l 5 a/one link\n"
    "d " LONG "\n"
    "f 3 %s " LONG "/" LONG "\n"
    "x 10 %s run\n";

static void expected_hash(char ret[SHA256_DIGEST_STRING_LENGTH])
{
    char text[2048];
    char far[SHA256_DIGEST_STRING_LENGTH];
    char run[SHA256_DIGEST_STRING_LENGTH];
    hash_of("far", far);
    hash_of("#!/bin/sh\n", run);
    (void)snprintf(text, sizeof(text), inventory, far, run);
    hash_of(text, ret);
}

START_TEST(the_archive_tells_the_hash_of_the_set)
{
    static const size_t pieces[] = {1, 7, 511, 512, 65536};
    static unsigned char first[ARCHIVE_LIMIT];
    static unsigned char bytes[ARCHIVE_LIMIT];
    char expected[SHA256_DIGEST_STRING_LENGTH];
    size_t length = 0;
    expected_hash(expected);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        struct error error;
        CLEANUP(close_archive)
        struct package_archive *archive = package_archive_open(content, PLACE, &ample, &error);
        ck_assert_ptr_nonnull(archive);
        ck_assert_ptr_null(package_archive_sha256(archive));
        size_t count = read_all(archive, i == 0 ? first : bytes, pieces[i]);
        ck_assert_str_eq(package_archive_sha256(archive), expected);
        ck_assert_uint_eq(count % TAR_BLOCK, 0);
        if (i == 0)
            length = count;
        ck_assert_uint_eq(count, length);
        ck_assert(i == 0 || memcmp(first, bytes, length) == 0);
    }
}
END_TEST

/* The header of that name, or NULL. */
static const struct tar_header *find(const unsigned char *bytes, size_t length, const char *name)
{
    for (size_t at = 0; at + TAR_BLOCK <= length; at += TAR_BLOCK) {
        const struct tar_header *header = (const void *)(bytes + at);
        if (memcmp(header->magic, "ustar", 6) == 0 &&
            strncmp(header->name, name, sizeof(header->name)) == 0)
            return header;
    }
    return NULL;
}

START_TEST(everything_is_root_s_and_read_only)
{
    static unsigned char bytes[ARCHIVE_LIMIT];
    static const struct {
        const char *name;
        char type;
        const char *mode;
    } entries[] = {{PLACE "/", '5', "0000555"},
                   {PLACE "/a/", '5', "0000555"},
                   {PLACE "/a/one", '0', "0000444"},
                   {PLACE "/run", '0', "0000555"},
                   {PLACE "/link", '2', "0000777"}};
    struct error error;
    CLEANUP(close_archive)
    struct package_archive *archive = package_archive_open(content, PLACE, &ample, &error);
    ck_assert_ptr_nonnull(archive);
    size_t length = read_all(archive, bytes, sizeof(bytes) / 4);
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        const struct tar_header *header = find(bytes, length, entries[i].name);
        ck_assert_ptr_nonnull(header);
        ck_assert_int_eq(header->type, entries[i].type);
        ck_assert_str_eq(header->mode, entries[i].mode);
        ck_assert_str_eq(header->uid, "0000000");
        ck_assert_str_eq(header->gid, "0000000");
    }
    ck_assert_str_eq(find(bytes, length, PLACE "/link")->link, "a/one");
    ck_assert_ptr_nonnull(memmem(bytes, length, "path=" PLACE "/" LONG "/" LONG "\n",
                                 strlen("path=" PLACE "/" LONG "/" LONG "\n")));
}
END_TEST

static void refused(const struct tree_limits *limits, const char *part)
{
    struct error error = {.message = ""};
    CLEANUP(close_archive)
    struct package_archive *archive = package_archive_open(content, PLACE, limits, &error);
    ck_assert_ptr_null(archive);
    ck_assert_int_eq(error.code, ERROR_ENVIRONMENT_CHANGED);
    ck_assert_msg(strstr(error.message, part), "%s", error.message);
}

START_TEST(what_no_set_has_is_refused)
{
    const struct tree_limits few_bytes = {10, 100};
    const struct tree_limits few_inodes = {1U << 20, 5};
    refused(&few_bytes, "bytes");
    refused(&few_inodes, "files and directories");
    ck_assert_int_eq(fchmod(content, 0755), 0);
    refused(&ample, "mode");
    ck_assert_int_eq(mkfifoat(content, "more", 0444), 0);
    ck_assert_int_eq(fchmod(content, 0555), 0);
    refused(&ample, "more");
    ck_assert_int_eq(unlinkat(content, "more", 0), geteuid() == 0 ? 0 : -1);
}
END_TEST

START_TEST(modes_of_other_kinds_are_refused)
{
    static const mode_t modes[] = {04555, 02555, 01444, 0644, 0400, 0755};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        ck_assert_int_eq(fchmodat(content, "run", modes[i], 0), 0);
        refused(&ample, "run");
    }
    struct error error;
    ck_assert_int_eq(fchmodat(content, "run", 0555, 0), 0);
    CLEANUP(close_archive)
    struct package_archive *archive = package_archive_open(content, PLACE, &ample, &error);
    ck_assert_ptr_nonnull(archive);
}
END_TEST

/* As an ordinary user may do it. */
static void change_file(const char *name, const char *text)
{
    ck_assert_int_eq(fchmodat(content, name, 0644, 0), 0);
    write_file(name, text, 0444);
}

/* Between the list and the reading. */
START_TEST(a_change_is_seen)
{
    static unsigned char bytes[ARCHIVE_LIMIT];
    static const struct {
        const char *text;
        bool fails;
    } changes[] = {{"2", false}, {"", true}, {"11", true}};
    char expected[SHA256_DIGEST_STRING_LENGTH];
    expected_hash(expected);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct error error;
        change_file("a/one", "1");
        CLEANUP(close_archive)
        struct package_archive *archive = package_archive_open(content, PLACE, &ample, &error);
        ck_assert_ptr_nonnull(archive);
        change_file("a/one", changes[i].text);
        size_t length = read_all(archive, bytes, 4096);
        ck_assert_int_eq(length == 0, changes[i].fails);
        if (changes[i].fails)
            ck_assert_ptr_nonnull(strstr(package_archive_error(archive)->message, "a/one"));
        else
            ck_assert_str_ne(package_archive_sha256(archive), expected);
    }
}
END_TEST

START_TEST(a_link_in_the_place_of_a_file_is_not_followed)
{
    static unsigned char bytes[ARCHIVE_LIMIT];
    struct error error;
    CLEANUP(close_archive)
    struct package_archive *archive = package_archive_open(content, PLACE, &ample, &error);
    ck_assert_ptr_nonnull(archive);
    ck_assert_int_eq(fchmodat(content, "a", 0755, 0), 0);
    ck_assert_int_eq(unlinkat(content, "a/one", 0), 0);
    ck_assert_int_eq(symlinkat("/etc/hostname", content, "a/one"), 0);
    ck_assert_uint_eq(read_all(archive, bytes, 4096), 0);
    ck_assert_ptr_nonnull(strstr(package_archive_error(archive)->message, "a/one"));
    ck_assert_ptr_null(package_archive_sha256(archive));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker packages");
    tcase_add_checked_fixture(cases, make_all, clear_all);
    tcase_add_test(cases, the_archive_tells_the_hash_of_the_set);
    tcase_add_test(cases, everything_is_root_s_and_read_only);
    tcase_add_test(cases, what_no_set_has_is_refused);
    tcase_add_test(cases, modes_of_other_kinds_are_refused);
    tcase_add_test(cases, a_change_is_seen);
    tcase_add_test(cases, a_link_in_the_place_of_a_file_is_not_followed);
    return run_suite("docker packages", &cases, 1);
}
