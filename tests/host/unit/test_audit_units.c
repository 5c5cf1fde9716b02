/* SPDX-License-Identifier: Apache-2.0 */
/* Units of the audit log: digests, the form of a line, keys, files that are trusted, chains of
 * files. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/audit_chain.h"
#include "audit/audit_line.h"
#include "audit/audit_log.h"
#include "base/cleanup.h"
#include "base/state_file.h"
#include "tap_suite.h"

static char home[] = P_tmpdir "/audit-units-XXXXXX";
static char path[128];

static void start(void)
{
    ck_assert_ptr_nonnull(mkdtemp(home));
    (void)snprintf(path, sizeof(path), "%s/file", home);
}

static void end(void)
{
    (void)unlink(path);
    (void)rmdir(home);
    (void)memcpy(home + strlen(home) - 6, "XXXXXX", 6);
}

static void write_file(const char *bytes, size_t length, mode_t mode)
{
    (void)unlink(path);
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, bytes, length), length);
    ck_assert_int_eq(fchmod(fd, mode), 0);
}

/* FIPS 180-4, and RFC 4231: cases 1, 2, 6 (a key longer than a block). */
START_TEST(digests_are_the_published_ones)
{
    char hex[SHA256_HEX + 1];
    char key[131];
    static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    sha256_hex("abc", 3, hex);
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    memset(key, 0x0b, 20);
    hmac_sha256_hex(key, 20, (struct digest_part[]){{"Hi ", 3}, {"There", 5}}, 2, hex);
    ck_assert_str_eq(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac_sha256_hex("Jefe", 4, &(struct digest_part){"what do ya want for nothing?", 28}, 1, hex);
    ck_assert_str_eq(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    hmac_sha256_hex(key, sizeof(key), &(struct digest_part){text, strlen(text)}, 1, hex);
    ck_assert_str_eq(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    ck_assert(!hex_differs("abcd", "abcx", 3));
    ck_assert(hex_differs("abcd", "abcx", 4));
}
END_TEST

#define HASH_64  "00000000000000000000000000000000000000000000000000000000000000ff"
#define PREVIOUS "\"prev_sha256\":\"" HASH_64 "\""

/* The text with the hash it should have. */
static char *seal(const char *text)
{
    char hex[SHA256_HEX + 1];
    char *line = NULL;
    sha256_hex(text, strlen(text), hex);
    ck_assert_int_gt(asprintf(&line, "%s,\"sha256\":\"%s\"}", text, hex), 0);
    return line;
}

START_TEST(a_line_has_one_form)
{
    static const struct {
        const char *text;
        bool fits;
    } cases[] = {
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"record\":{}", true},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"log\":{}", true},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"log\":{},\"key\":\"0123456789abcdef\","
         "\"hmac_sha256\":\"x\"",
         true},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"log\":{},\"key\":\"0123456789abcdeg\","
         "\"hmac_sha256\":\"x\"",
         false},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"log\":{},\"key\":\"0123456789abcdef\"", false},
        {"{\"seq\":0,\"time\":\"t\"," PREVIOUS ",\"record\":{}", false},
        {"{\"seq\":-1,\"time\":\"t\"," PREVIOUS ",\"record\":{}", false},
        {"{\"seq\":1.0,\"time\":\"t\"," PREVIOUS ",\"record\":{}", false},
        {"{\"seq\":1,\"time\":2," PREVIOUS ",\"record\":{}", false},
        {"{\"seq\":1,\"time\":\"t\",\"prev_sha256\":\"00\",\"record\":{}", false},
        {"{\"seq\":1,\"time\":\"t\",\"prev_sha256\":\"" HASH_64 "0\",\"record\":{}", false},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"record\":[]", false},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"other\":{}", false},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"record\":{},\"log\":{}", false},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"record\":{},\"record\":{}", false},
        {"{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"record\":{", false},
    };
    static const struct audit_keys no_keys;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
        CLEANUP_FREE char *line = seal(cases[i].text);
        struct failure failure;
        bool fits = audit_line_check(line, strlen(line), &no_keys, &entry, &failure);
        ck_assert_msg(fits == cases[i].fits, "%s", line);
        ck_assert(audit_line_has_its_hash(line, strlen(line)));
        line[2] ^= 1;
        ck_assert(!audit_line_has_its_hash(line, strlen(line)));
    }
}
END_TEST

/* A signature that is another's, and one that is not at its place. */
START_TEST(a_signature_is_the_keys)
{
    static const char *const members[] = {
        "\"key\":\"0123456789abcdef\",\"hmac_sha256\":\"" HASH_64 "\"",
        "\"hmac_sha256\":\"" HASH_64 "\",\"key\":\"0123456789abcdef\""};
    static struct hmac_key key = {.id = "0123456789abcdef", .length = 32};
    const struct audit_keys keys = {{NULL, &key}};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
        CLEANUP_FREE char *text = NULL;
        struct failure failure;
        ck_assert_int_gt(
            asprintf(&text, "{\"seq\":1,\"time\":\"t\"," PREVIOUS ",\"log\":{},%s", members[i]), 0);
        CLEANUP_FREE char *line = seal(text);
        ck_assert(!audit_line_check(line, strlen(line), &keys, &entry, &failure));
        ck_assert_str_eq(failure.message, "was changed: its key did not sign it");
    }
}
END_TEST

START_TEST(a_record_has_a_limit)
{
    const struct audit_link none = audit_link_none();
    struct failure failure;
    char *line = NULL;
    size_t length = 0;
    CLEANUP_FREE char *text = malloc(AUDIT_RECORD_LIMIT + 2);
    static const char begin[] = "{\"a\":[1e9";
    /* Written out, 1e9 is longer. */
    memcpy(text, begin, sizeof(begin));
    for (size_t used = strlen(text); used < AUDIT_RECORD_LIMIT - 16; used += 4)
        memcpy(text + used, ",1e9", 5);
    (void)strcat(text, "]}");
    ck_assert(!audit_line_make(&none, text, false, NULL, &line, &length, &failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "longer than 1048576 bytes"));
    memset(text, ' ', AUDIT_RECORD_LIMIT + 1);
    text[AUDIT_RECORD_LIMIT + 1] = '\0';
    ck_assert(!audit_line_make(&none, text, false, NULL, &line, &length, &failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "longer than 1048576 bytes"));
    memcpy(text, "{}", 2);
    text[AUDIT_RECORD_LIMIT] = '\0';
    ck_assert(audit_line_make(&none, text, false, NULL, &line, &length, &failure));
    free(line);
}
END_TEST

START_TEST(a_record_may_have_nul)
{
    struct failure failure;
    const struct audit_link none = audit_link_none();
    CLEANUP_FREE char *line = NULL;
    size_t length = 0;
    ck_assert(
        audit_line_make(&none, "{\"a\":\"x\\u0000y\"}", false, NULL, &line, &length, &failure));
    ck_assert_ptr_nonnull(strstr(line, "\"record\":{\"a\":\"x\\u0000y\"}"));
    CLEANUP(audit_entry_clear) struct audit_entry entry = {0};
    const struct audit_keys keys = {{NULL}};
    ck_assert(audit_line_check(line, length - 1, &keys, &entry, &failure));
    ck_assert_uint_eq(json_string_length(json_object_get(entry.record, "a")), 3);
}
END_TEST

START_TEST(a_file_is_its_owners_alone)
{
    static const struct {
        mode_t mode;
        uid_t owner_offset;
        bool trusted;
    } cases[] = {
        {S_IFREG | 0600, 0, true},  {S_IFREG | 0400, 0, true},  {S_IFREG | 0640, 0, false},
        {S_IFREG | 0602, 0, false}, {S_IFREG | 0610, 0, false}, {S_IFREG | 0600, 77, false},
        {S_IFIFO | 0600, 0, false}, {S_IFDIR | 0700, 0, false},
    };
    struct failure failure;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct stat status = {.st_mode = cases[i].mode,
                                    .st_uid = geteuid() + cases[i].owner_offset};
        ck_assert_msg(trusted_file_check(&status, "f", "code", &failure) == cases[i].trusted,
                      "case %zu", i);
    }
    /* root's, judged by somebody else */
    const struct stat of_root = {.st_mode = S_IFREG | 0600, .st_uid = 0};
    ck_assert_int_eq(geteuid() == 0 ? seteuid(12345) : 0, 0);
    ck_assert(trusted_file_check(&of_root, "f", "code", &failure));
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(a_key_is_long_enough_and_nobody_elses)
{
    static struct hmac_key key, same;
    static char bytes[HMAC_KEY_MOST + 2];
    struct failure failure;
    memset(bytes, 'k', sizeof(bytes));
    write_file(bytes, 32, 0600);
    ck_assert(hmac_key_read(path, &key, &failure));
    ck_assert_uint_eq(key.length, 32);
    bytes[32] = '\n';
    write_file(bytes, 33, 0400);
    ck_assert(hmac_key_read(path, &same, &failure));
    ck_assert_str_eq(key.id, same.id);
    ck_assert_uint_eq(strspn(key.id, "0123456789abcdef"), HMAC_KEY_ID);
    static const size_t bad[] = {0, 31, HMAC_KEY_MOST + 1, HMAC_KEY_MOST + 2};
    bytes[32] = 'k';
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        write_file(bytes, bad[i], 0600);
        ck_assert(!hmac_key_read(path, &same, &failure));
    }
    write_file(bytes, 32, 0644);
    ck_assert(!hmac_key_read(path, &same, &failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "mode 0644"));
}
END_TEST

static bool open_chain(size_t count, struct audit_chain *ret, struct failure *failure)
{
    CLEANUP_FREE const char **names = calloc(count, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = path;
    return audit_chain_open(names, count, false, ret, failure);
}

/* Names that lead elsewhere are not followed, nor is a circle. */
START_TEST(a_file_before_is_beside)
{
    static const char *const names[] = {"\"\"",      "\".\"", "\"..\"", "\"../file\"",
                                        "\"/file\"", "7",     "null",   "\"file\""};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(audit_chain_close) struct audit_chain chain = {0};
        CLEANUP_FREE char *text = NULL;
        struct failure failure;
        ck_assert_int_gt(asprintf(&text,
                                  "{\"seq\":9,\"time\":\"t\"," PREVIOUS
                                  ",\"log\":{\"event\":\"rotated\",\"previous_file\":%s}",
                                  names[i]),
                         0);
        CLEANUP_FREE char *line = seal(text);
        size_t length = strlen(line);
        line[length] = '\n'; /* in the place of the NUL */
        write_file(line, length + 1, 0600);
        ck_assert(open_chain(1, &chain, &failure));
        ck_assert_uint_eq(chain.count, 1);
    }
}
END_TEST

START_TEST(a_chain_has_a_limit_and_regular_files)
{
    CLEANUP(audit_chain_close) struct audit_chain chain = {0};
    struct failure failure;
    write_file("x\n", 2, 0600);
    ck_assert(!open_chain(801, &chain, &failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "more than 800 files"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(!open_chain(1, &chain, &failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "not a regular file"));
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

/* What is cut off behind our back, and what is longer than a line. */
START_TEST(reading_ends)
{
    CLEANUP(audit_chain_close) struct audit_chain chain = {0};
    CLEANUP_FREE char *line = malloc(AUDIT_LINE_LIMIT);
    CLEANUP_FREE char *bytes = malloc(AUDIT_LINE_LIMIT + 10);
    struct failure failure;
    memset(bytes, 'x', AUDIT_LINE_LIMIT + 10);
    write_file(bytes, AUDIT_LINE_LIMIT + 10, 0600);
    ck_assert(open_chain(1, &chain, &failure));
    FILE *file = chain.files[0].file;
    off_t size = chain.files[0].size;
    ck_assert_uint_eq(audit_chain_read_line(file, size, line), AUDIT_LINE_LIMIT);
    ck_assert_uint_eq(audit_chain_read_line(file, size, line), 10);
    ck_assert_uint_eq(audit_chain_read_line(file, size, line), 0);
    rewind(file);
    ck_assert_int_eq(truncate(path, 3), 0);
    ck_assert_uint_eq(audit_chain_read_line(file, size, line), 3);
    ck_assert_uint_eq(audit_chain_read_line(file, size, line), 0);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("units")};
    tcase_set_timeout(cases[0], 60);
    tcase_add_checked_fixture(cases[0], start, end);
    tcase_add_test(cases[0], digests_are_the_published_ones);
    tcase_add_test(cases[0], a_line_has_one_form);
    tcase_add_test(cases[0], a_signature_is_the_keys);
    tcase_add_test(cases[0], a_record_has_a_limit);
    tcase_add_test(cases[0], a_record_may_have_nul);
    tcase_add_test(cases[0], a_file_is_its_owners_alone);
    tcase_add_test(cases[0], a_key_is_long_enough_and_nobody_elses);
    tcase_add_test(cases[0], a_file_before_is_beside);
    tcase_add_test(cases[0], a_chain_has_a_limit_and_regular_files);
    tcase_add_test(cases[0], reading_ends);
    return run_suite("audit units", cases, COUNT_OF(cases));
}
