/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log when what it stands on fails: each call of the system and each allocation, once, in
 * each thing that is done with a log. It says so or it has done its work; nothing leaks; the log
 * can be appended to afterwards, and its chain is whole. Single-threaded test process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/audit_chain.h"
#include "audit/audit_file.h"
#include "audit/audit_setting.h"
#include "audit/audit_show.h"
#include "base/cleanup.h"
#include "failing_calls.h"
#include "tap_suite.h"

static char home[64];
static char log_path[128], key_path[128], other_key_path[128];
static struct hmac_key *key, *other_key;

static void in_home(char ret[128], const char *name)
{
    (void)snprintf(ret, 128, "%s/%s", home, name);
}

static void write_file(const char *path, const char *text, int flags)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
}

static void empty_directory(const char *path)
{
    DIR *directory = opendir(path);
    char inside[512];
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR) {
            empty_directory(inside);
            (void)rmdir(inside);
        } else {
            (void)unlink(inside);
        }
    }
    (void)closedir(directory);
}

static struct audit_log log_of(const struct hmac_key *signing, uint64_t max_bytes)
{
    return (struct audit_log){log_path, signing, max_bytes};
}

static bool append(const struct hmac_key *signing, uint64_t max_bytes, struct failure *failure)
{
    const struct audit_log log = log_of(signing, max_bytes);
    return audit_log_append(&log, "{\"event\":\"start\",\"run_id\":\"r\"}", failure);
}

static void must_append(const struct hmac_key *signing, uint64_t max_bytes)
{
    struct failure failure;
    ck_assert_msg(append(signing, max_bytes, &failure), "%s", failure.message);
}

static void begin_nothing(void)
{
}

static void begin_two(void)
{
    must_append(NULL, 0);
    must_append(NULL, 0);
}

static void begin_signed(void)
{
    must_append(key, 0);
}

static void begin_torn(void)
{
    begin_two();
    write_file(log_path, "{\"seq\":3,\"ti", O_APPEND);
}

static void begin_without_break(void)
{
    begin_two();
    struct stat status;
    ck_assert_int_eq(stat(log_path, &status), 0);
    ck_assert_int_eq(truncate(log_path, status.st_size - 1), 0);
}

static void begin_torn_signed(void)
{
    begin_signed();
    write_file(log_path, "{\"seq\":2,\"ti", O_APPEND);
}

static void begin_three_files(void)
{
    begin_two();
    must_append(NULL, 1);
    must_append(NULL, 1);
}

/* As a crash in the middle of a rotation leaves it. */
static void begin_linked(void)
{
    static const struct audit_keys no_keys;
    struct failure failure;
    struct audit_tail tail;
    CLEANUP(audit_file_close) struct audit_file file = {.fd = -1};
    begin_two();
    ck_assert(audit_file_open(log_path, &file, &failure));
    ck_assert(audit_file_read_tail(&file, &no_keys, &tail, &failure));
    char name[256];
    (void)snprintf(name, sizeof(name), "%s.%012llu-%.8s", log_path,
                   (unsigned long long)tail.last.seq, tail.last.sha256);
    ck_assert_int_eq(link(log_path, name), 0);
    (void)snprintf(name, sizeof(name), "%s.new", log_path);
    write_file(name, "left over", 0);
}

/* The file's first line is another's, and so is the one of the file before. */
static void begin_lines_changed(void)
{
    begin_three_files();
    write_file(log_path, "x", 0);
}

static bool do_append(struct failure *failure)
{
    return append(NULL, 0, failure);
}

static bool do_append_signed(struct failure *failure)
{
    return append(key, 0, failure);
}

static bool do_append_rotating(struct failure *failure)
{
    return append(NULL, 1, failure);
}

static bool rotate(const struct hmac_key *previous, const struct hmac_key *next,
                   struct failure *failure)
{
    CLEANUP_FREE char *name = NULL;
    const struct audit_log log = log_of(next, 0);
    return audit_log_rotate(&log, previous, &name, failure);
}

static bool do_rotate(struct failure *failure)
{
    return rotate(NULL, NULL, failure);
}

static bool do_change_key(struct failure *failure)
{
    return rotate(key, other_key, failure);
}

static bool verify(const struct audit_keys *keys, struct audit_answer *ret, struct failure *failure)
{
    const char *names[] = {log_path};
    const struct audit_question question = {.names = names, .name_count = 1, .keys = *keys};
    return audit_verify(&question, ret, failure);
}

static bool do_verify(struct failure *failure)
{
    static const struct audit_keys no_keys;
    struct audit_answer answer;
    return verify(&no_keys, &answer, failure);
}

static bool do_find(struct failure *failure)
{
    static const struct audit_keys no_keys;
    struct audit_answer answer;
    (void)verify(&no_keys, &answer, failure);
    return strcmp(failure->code, "audit_broken") == 0 || failure_set(failure, "other", "another");
}

static void show_entry(void *show, const struct audit_entry *entry)
{
    audit_show_entry(show, entry);
}

static bool do_show(struct failure *failure)
{
    static const struct audit_filter all;
    CLEANUP_CLOSE int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct audit_show show;
    struct audit_answer answer;
    const char *names[] = {log_path};
    if (!audit_show_begin(out, &all, false, &show, failure))
        return false;
    const struct audit_question question = {
        .names = names, .name_count = 1, .visit = show_entry, .user = &show};
    bool intact = audit_verify(&question, &answer, failure);
    audit_show_end(&show);
    return intact;
}

static bool do_make_setting(struct failure *failure)
{
    CLEANUP(audit_setting_clear) struct audit_setting setting = {0};
    const struct audit_options options = {.keys = {key_path}, .key_count = 1};
    return audit_setting_make(&options, &setting, failure);
}

static bool do_append_to_device(struct failure *failure)
{
    const struct audit_log log = {.path = "/dev/null"};
    return audit_log_append(&log, "{}", failure);
}

static const struct deed {
    void (*begin)(void);
    bool (*act)(struct failure *failure);
    bool is_signed;
} deeds[] = {
    {begin_nothing, do_append, false},       {begin_two, do_append, false},
    {begin_torn, do_append, false},          {begin_without_break, do_append, false},
    {begin_two, do_append_rotating, false},  {begin_torn, do_append_rotating, false},
    {begin_nothing, do_append_signed, true}, {begin_signed, do_append_signed, true},
    {begin_two, do_rotate, false},           {begin_torn, do_rotate, false},
    {begin_signed, do_change_key, true},     {begin_torn_signed, do_change_key, true},
    {begin_three_files, do_verify, false},   {begin_linked, do_rotate, false},
    {begin_lines_changed, do_find, false},   {begin_three_files, do_show, false},
    {begin_nothing, do_make_setting, false}, {begin_nothing, do_append_to_device, false},
};

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count;
}

/* One of the keys is the one: which, depends on how far a change of keys got. */
static void expect_continuable(const struct deed *deed, int number, long failing)
{
    const struct audit_keys keys = {
        {deed->is_signed ? key : NULL, deed->is_signed ? other_key : NULL}};
    struct failure failure;
    struct audit_answer answer;
    bool appended = append(deed->is_signed ? key : NULL, 0, &failure) ||
                    (deed->is_signed && append(other_key, 0, &failure));
    ck_assert_msg(appended, "deed %d, call %ld: %s", number, failing, failure.message);
    ck_assert_msg(verify(&keys, &answer, &failure), "deed %d, call %ld: %s", number, failing,
                  failure.message);
    ck_assert_uint_ge(answer.last.seq, 1);
}

/* Was there still a call that could fail? */
static bool attempt(int number, long failing)
{
    const struct deed *deed = &deeds[number];
    struct failure failure = {0};
    empty_directory(home);
    write_file(key_path, "0123456789abcdef0123456789abcdef\n", O_TRUNC);
    deed->begin();
    size_t descriptors = count_descriptors();
    live = 0;
    has_failed = false;
    until_failure = failing;
    counting = true;
    bool done = deed->act(&failure);
    counting = false;
    ck_assert_msg(done || failure.code[0], "deed %d, call %ld: no reason", number, failing);
    ck_assert_msg(done || has_failed, "deed %d: %s", number, failure.message);
    ck_assert_msg(live == 0, "deed %d, call %ld: %ld blocks left", number, failing, live);
    ck_assert_uint_eq(count_descriptors(), descriptors);
    if (deed->act != do_make_setting && deed->act != do_find && deed->act != do_append_to_device)
        expect_continuable(deed, number, failing);
    return has_failed;
}

START_TEST(each_call_fails_once)
{
    static const int errors[] = {EIO, EINTR, 0};
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        long failing = 0;
        error_number = errors[i];
        while (attempt(_i, failing))
            failing++;
        ck_assert_msg(failing > 2 || _i == (int)COUNT_OF(deeds) - 1, "%ld calls", failing);
    }
}
END_TEST

/* Positive control of the test: what is not on the disk is not confirmed. */
START_TEST(a_record_is_confirmed_only_when_it_is_on_the_disk)
{
    static const struct audit_keys no_keys;
    struct failure failure;
    struct audit_answer before, after;
    begin_two();
    ck_assert(verify(&no_keys, &before, &failure));
    for (long failing = 0;; failing++) {
        has_failed = false;
        until_failure = failing;
        counting = true;
        bool done = do_append(&failure);
        counting = false;
        ck_assert(!done || on_disk);
        ck_assert(verify(&no_keys, &after, &failure));
        ck_assert_uint_eq(after.last.seq, before.last.seq + done);
        if (!has_failed)
            break;
        before = after;
    }
}
END_TEST

START_TEST(a_lock_is_not_waited_for_without_end)
{
    struct failure failure;
    begin_two();
    struct audit_file file = {.fd = -1};
    ck_assert(audit_file_open(log_path, &file, &failure));
    clock_step = 7;
    ck_assert(!append(NULL, 0, &failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "locked for 30 s"));
    clock_step = 0;
    audit_file_close(&file);
    must_append(NULL, 0);
}
END_TEST

/* A file that is never the one at its path: each lstat() fails. */
START_TEST(a_file_that_is_replaced_again_and_again)
{
    struct failure failure;
    begin_two();
    clock_step = 31;
    error_number = ENOENT;
    until_failure = 3; /* open, fstat, flock, fstat: lstat is the next but one */
    has_failed = false;
    counting = true;
    until_failure = 4;
    bool done = do_append(&failure);
    counting = false;
    clock_step = 0;
    ck_assert(has_failed && !done);
    ck_assert_ptr_nonnull(strstr(failure.message, "keeps being replaced"));
    must_append(NULL, 0);
}
END_TEST

/* That two files have the same number is not enough. */
START_TEST(the_same_number_on_another_device)
{
    struct failure failure;
    begin_linked();
    device_changes_at = 1;
    clock_step = 31;
    ck_assert(!do_append(&failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "keeps being replaced"));
    clock_step = 0;
    device_changes_at = 3; /* behind the log itself: the old name */
    ck_assert(!do_rotate(&failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "cannot link"));
    device_changes_at = 0;
    must_append(NULL, 0);
}
END_TEST

START_TEST(a_name_that_is_taken_is_not_taken_over)
{
    struct failure failure;
    char command[512];
    begin_linked();
    (void)snprintf(command, sizeof(command), "for f in %s.0*; do rm $f; echo x >$f; done",
                   log_path);
    ck_assert_int_eq(system(command), 0);
    ck_assert(!do_rotate(&failure));
    ck_assert_ptr_nonnull(strstr(failure.message, "cannot link"));
    must_append(NULL, 0);
    ck_assert(do_verify(&failure));
}
END_TEST

static void start(void)
{
    struct failure failure;
    /* In memory where there is such a place: thousands of files are made. */
    (void)snprintf(home, sizeof(home), "%s/audit-faults-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir);
    ck_assert_ptr_nonnull(mkdtemp(home));
    in_home(log_path, "audit.jsonl");
    in_home(key_path, "key");
    in_home(other_key_path, "other-key");
    ck_assert_int_eq(setenv("XDG_STATE_HOME", home, 1), 0);
    write_file(key_path, "0123456789abcdef0123456789abcdef\n", O_TRUNC);
    write_file(other_key_path, "fedcba9876543210fedcba9876543210", O_TRUNC);
    ck_assert(audit_setting_read_key(key_path, &key, &failure));
    ck_assert(audit_setting_read_key(other_key_path, &other_key, &failure));
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
}

static void end(void)
{
    empty_directory(home);
    (void)rmdir(home);
    audit_setting_free_key(&key);
    audit_setting_free_key(&other_key);
}

int main(void)
{
    TCase *cases[] = {tcase_create("faults")};
    tcase_set_timeout(cases[0], 240);
    tcase_add_checked_fixture(cases[0], start, end);
    tcase_add_loop_test(cases[0], each_call_fails_once, 0, COUNT_OF(deeds));
    tcase_add_test(cases[0], a_record_is_confirmed_only_when_it_is_on_the_disk);
    tcase_add_test(cases[0], a_lock_is_not_waited_for_without_end);
    tcase_add_test(cases[0], a_file_that_is_replaced_again_and_again);
    tcase_add_test(cases[0], the_same_number_on_another_device);
    tcase_add_test(cases[0], a_name_that_is_taken_is_not_taken_over);
    return run_suite("audit faults", cases, COUNT_OF(cases));
}
