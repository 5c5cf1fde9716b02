/* SPDX-License-Identifier: Apache-2.0 */
/* Inventories: their exact text, what is refused, and the first difference between two. One thread.
 */
#include "environments/inventory.h"
#include "tree.h"

#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct tree_limits limits = {.bytes = 1000, .inodes = 100};
static const char text[] = "d a\n"
                           "f 3 " ABC " a/f\n"
                           "l 1 f a/l\n"
                           "x 0 " EMPTY " a/run\n"
                           "f 3 " ABC " a-b\n"
                           "d b\n";

START_TEST(the_text)
{
    struct inventory made = {0};
    struct error error = {0};
    struct sha256 hash;
    char sha256[SHA256_TEXT_LENGTH + 1];
    ck_assert_msg(inventory_make(tree_fd, &limits, &made, &error), "%s", error.message);
    ck_assert_uint_eq(made.length, strlen(text));
    ck_assert_mem_eq(made.text, text, made.length);
    sha256_begin(&hash);
    sha256_add(&hash, text, strlen(text));
    sha256_end(&hash, sha256);
    ck_assert_str_eq(made.sha256, sha256);
    ck_assert_uint_eq(made.totals.bytes, 6);
    ck_assert_uint_eq(made.totals.files, 3);
    ck_assert_uint_eq(made.totals.inodes, 6);
    inventory_clear(&made);
    ck_assert_ptr_null(made.text);
}
END_TEST

static void must_fail(const char *place, const char *message)
{
    struct inventory made = {0};
    struct error error = {0};
    ck_assert(!inventory_make(tree_fd, &limits, &made, &error));
    ck_assert_str_eq(made.place, place);
    ck_assert_str_eq(error.message, message);
    ck_assert_ptr_null(made.text);
}

START_TEST(modes)
{
    static const mode_t bad[] = {0644, 0400, 04555, 0445, 0};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        tree_mode("a/f", bad[i]);
        must_fail("a/f", "the file has another mode than 0444 and 0555");
    }
    tree_mode("a/f", 0444);
    tree_mode("a", 0755);
    must_fail("a", "the directory has another mode than 0555");
    tree_mode("a", 0555);
    tree_mode(".", 0755);
    must_fail("", "the directory has another mode than 0555");
}
END_TEST

START_TEST(links)
{
    static const char *const bad[] = {"..", "/", "/etc", "../x", "x/../../y", "./..", "b/../.."};
    tree_mode(".", 0755);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_int_eq(symlinkat(bad[i], tree_fd, "l"), 0);
        tree_mode(".", 0555);
        must_fail("l", "the link leads out of the directory of packages");
        tree_mode(".", 0755);
        ck_assert_int_eq(unlinkat(tree_fd, "l", 0), 0);
    }
}
END_TEST

START_TEST(where_links_lead)
{
    ck_assert(inventory_link_stays("a/l", "../x"));
    ck_assert(inventory_link_stays("a/l", ".."));
    ck_assert(inventory_link_stays("l", "."));
    ck_assert(inventory_link_stays("l", "a//b/./../.."));
    ck_assert(inventory_link_stays("l", "...") && inventory_link_stays("l", "..a"));
    ck_assert(!inventory_link_stays("l", ".."));
    ck_assert(!inventory_link_stays("a/l", "../.."));
    ck_assert(!inventory_link_stays("a/l", "..//..//"));
    ck_assert(!inventory_link_stays("l", "a/../.."));
    ck_assert(!inventory_link_stays("l", ""));
    ck_assert(!inventory_link_stays("a/b/l", "/x"));
}
END_TEST

/* What differs first; "" where no path can be named. */
static void must_find(const char *recorded, enum inventory_change change, const char *path)
{
    const char *found;
    size_t length;
    enum inventory_change result =
        inventory_compare(recorded, strlen(recorded), text, strlen(text), &found, &length);
    ck_assert_msg(result == change, "%d for %s", (int)result, recorded);
    ck_assert_msg(length == strlen(path) && (length == 0 || memcmp(found, path, length) == 0),
                  "%.*s for %s", (int)length, found ? found : "", recorded);
}

START_TEST(differences)
{
    must_find(text, INVENTORY_SAME, "");
    must_find("", INVENTORY_ADDED, "a");
    must_find("d a\n", INVENTORY_ADDED, "a/f");
    must_find("d a\nf 4 " ABC " a/f\n", INVENTORY_CHANGED, "a/f");
    must_find("d a\nx 3 " ABC " a/f\n", INVENTORY_CHANGED, "a/f");
    must_find("d a\nd a/a\n", INVENTORY_REMOVED, "a/a");
    must_find("d a\nd a/g\n", INVENTORY_ADDED, "a/f");
    must_find("d a\nf 3 " ABC " a/f\nl 1 g a/l\n", INVENTORY_CHANGED, "a/l");
    must_find("d a\nf 3 " ABC " a/f\nl 3 a b a/b\n", INVENTORY_REMOVED, "a/b");
    /* A slash is ahead of every other byte. */
    must_find("d a\nf 3 " ABC " a/f\nl 1 f a/l\nd a-a\n", INVENTORY_ADDED, "a/run");
}
END_TEST

START_TEST(longer_texts)
{
    char longer[sizeof(text) + 64];
    (void)snprintf(longer, sizeof(longer), "%sd c\n", text);
    must_find(longer, INVENTORY_REMOVED, "c");
    (void)snprintf(longer, sizeof(longer), "%sd b\n", text);
    must_find(longer, INVENTORY_REMOVED, "b");
    (void)snprintf(longer, sizeof(longer), "%.*s", (int)strlen(text) - 1, text);
    must_find(longer, INVENTORY_CHANGED, "");
}
END_TEST

START_TEST(texts_that_are_none)
{
    static const char *const bad[] = {
        "junk\n",   "\n",        "d\n",     "d \n",      "f 3 a/f\n",
        "f\n",      "l x f a\n", "l 1 f\n", "l 9 f a\n", "l 99999 f a\n",
        "l  f a\n", "q a\n",     "dd a\n",  " a\n",      "l 1 f \n"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        must_find(bad[i], INVENTORY_CHANGED, "");
}
END_TEST

int main(void)
{
    TCase *trees = tcase_create("trees");
    tcase_add_checked_fixture(trees, tree_make, tree_remove);
    tcase_add_test(trees, the_text);
    tcase_add_test(trees, modes);
    tcase_add_test(trees, links);
    TCase *texts = tcase_create("texts");
    tcase_add_test(texts, where_links_lead);
    tcase_add_test(texts, differences);
    tcase_add_test(texts, longer_texts);
    tcase_add_test(texts, texts_that_are_none);
    TCase *const cases[] = {trees, texts};
    return run_suite("inventory", cases, COUNT_OF(cases));
}
