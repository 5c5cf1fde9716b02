/* SPDX-License-Identifier: Apache-2.0 */
/* system_packages: which packages directories of Python and Node have, in a tree of the test's own
 * with odd entries; and the forms in which packages say what they are. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "environments/system_packages.h"
#include "tap_suite.h"

static char root[] = "/tmp/ce-packages-XXXXXX";

static void path_of(const char *name, char ret[PATH_MAX])
{
    ck_assert_int_lt(snprintf(ret, PATH_MAX, "%s/%s", root, name), PATH_MAX);
}

static void make_directory(const char *name)
{
    char path[PATH_MAX];
    path_of(name, path);
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void write_file(const char *name, const char *text, size_t length)
{
    char path[PATH_MAX];
    path_of(name, path);
    CLEANUP_FILE FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void make_link(const char *target, const char *name)
{
    char path[PATH_MAX];
    path_of(name, path);
    ck_assert_int_eq(symlink(target, path), 0);
}

static void make_root(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[sizeof(root) + 16];
    (void)snprintf(command, sizeof(command), "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
    memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
}

static struct system_packages read_root(enum package_language language)
{
    struct system_packages packages = {.count = 0};
    ck_assert(system_packages_add(language, root, ULLONG_MAX, &packages));
    return packages;
}

static void expect(const struct system_packages *packages, enum package_language language,
                   const char *name, const char *version)
{
    const struct package_facts *facts = system_packages_find(packages, language, name);
    if (!version) {
        ck_assert_msg(!facts, "%s is there", name);
        return;
    }
    ck_assert_msg(facts != NULL, "%s is missing", name);
    ck_assert_str_eq(facts->version, version);
}

START_TEST(packages_of_python)
{
    make_directory("numpy-1.0.dist-info");
    write_text("numpy-1.0.dist-info/METADATA",
               "Metadata-Version: 2.1\nName: NumPy\nVersion: 1.26.4\nSummary: x\n\nVersion: 9\n");
    make_directory("ruamel_yaml.egg-info");
    write_text("ruamel_yaml.egg-info/PKG-INFO", "name: ruamel.yaml\r\nVERSION:0.17\r\n\r\n");
    write_text("PyYAML-6.0-py3.11.egg-info", "nothing of the kind");
    write_text("no_version.egg-info", "");
    make_directory("empty-2.0.dist-info");
    make_directory("liar-1.0.dist-info");
    write_text("liar-1.0.dist-info/METADATA", "Name: a\033[31m\nVersion: 1;rm -rf\n");
    make_directory("link_to_secret-3.0.dist-info");
    write_text("secret", "Name: secret\nVersion: 4\n");
    make_link("../secret", "link_to_secret-3.0.dist-info/METADATA");
    make_link("numpy-1.0.dist-info", "linked-5.0.dist-info");
    make_link("nowhere", "dangling-6.0.egg-info");
    char path[PATH_MAX];
    path_of("fifo-7.0.egg-info", path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    make_directory("closed-8.0.dist-info");
    write_text("closed-8.0.dist-info/METADATA", "Name: other\nVersion: 9\n");
    path_of("closed-8.0.dist-info", path);
    ck_assert_int_eq(chmod(path, 0), 0);
    make_directory("numpy"); /* the package itself says nothing */
    write_text("-1.0.dist-info", "");
    write_text("a b-1.0.egg-info", "");
    write_text(".hidden-1.0.egg-info", "");
    make_directory("numpy-0.9.dist-info"); /* what is left of an upgrade: one of the two stays */

    CLEANUP(system_packages_clear) struct system_packages packages = read_root(PACKAGES_PYTHON);
    ck_assert(system_packages_find(&packages, PACKAGES_PYTHON, "numpy") != NULL);
    expect(&packages, PACKAGES_PYTHON, "Ruamel-YAML", "0.17");
    expect(&packages, PACKAGES_PYTHON, "PyYAML", "6.0");
    expect(&packages, PACKAGES_PYTHON, "no_version", "");
    expect(&packages, PACKAGES_PYTHON, "empty", "2.0");
    expect(&packages, PACKAGES_PYTHON, "liar", "1.0");
    expect(&packages, PACKAGES_PYTHON, "link_to_secret", "3.0");
    expect(&packages, PACKAGES_PYTHON, "linked", "5.0");
    expect(&packages, PACKAGES_PYTHON, "dangling", "6.0");
    expect(&packages, PACKAGES_PYTHON, "fifo", "7.0");
    expect(&packages, PACKAGES_PYTHON, geteuid() == 0 ? "other" : "closed",
           geteuid() == 0 ? "9" : "8.0");
    expect(&packages, PACKAGES_PYTHON, "secret", NULL);
    expect(&packages, PACKAGES_PYTHON, "hidden", NULL);
    ck_assert_uint_eq(packages.count, 11);
    ck_assert(!packages.is_cut);
    ck_assert_int_eq(chmod(path, 0700), 0);
}
END_TEST

START_TEST(packages_of_javascript)
{
    make_directory("plain");
    write_text("plain/package.json", "{\"name\": \"other\", \"x\": {\"version\": \"0\"}, \"y\": "
                                     "[\"version\"], \"version\" : \"1.2.3-rc.1\"}");
    make_directory("@scope");
    make_directory("@scope/part");
    write_text("@scope/part/package.json", "{\"version\":\"2.0.0\"}");
    make_directory("@scope/.cache");
    make_directory("no_version");
    write_text("no_version/package.json", "{}");
    make_directory("number");
    write_text("number/package.json", "{\"version\": 7}");
    make_directory("cut_off");
    write_text("cut_off/package.json", "{\"version\": \"1.");
    make_directory("escaped");
    write_text("escaped/package.json", "{\"a\\\"version\": \"8\", \"version\": \"1.\\u0030\"}");
    make_directory("none");
    make_directory("odd name");
    write_text("odd name/package.json", "{\"version\": \"1\"}");
    write_text("file.js", "");
    make_link("plain", "link");
    make_directory("secret_link");
    make_link("../plain/package.json", "secret_link/package.json");
    make_directory("huge");
    char *text = malloc(SYSTEM_MANIFEST_LIMIT + 10);
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', SYSTEM_MANIFEST_LIMIT + 10);
    memcpy(text, "{\"version\": \"3\"}", 16);
    write_file("huge/package.json", text, SYSTEM_MANIFEST_LIMIT + 10);
    make_directory("large");
    write_file("large/package.json", text, SYSTEM_MANIFEST_LIMIT - 1);
    free(text);

    CLEANUP(system_packages_clear) struct system_packages packages = read_root(PACKAGES_JAVASCRIPT);
    expect(&packages, PACKAGES_JAVASCRIPT, "plain", "1.2.3-rc.1");
    expect(&packages, PACKAGES_JAVASCRIPT, "Plain", NULL);
    expect(&packages, PACKAGES_JAVASCRIPT, "@scope/part", "2.0.0");
    expect(&packages, PACKAGES_JAVASCRIPT, "no_version", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "number", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "cut_off", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "escaped", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "link", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "secret_link", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "huge", "");
    expect(&packages, PACKAGES_JAVASCRIPT, "large", "3");
    ck_assert_uint_eq(packages.count, 10);
}
END_TEST

START_TEST(no_more_than_the_bounds)
{
    char name[64];
    for (int i = 0; i <= SYSTEM_PACKAGES_LIMIT; i++) {
        (void)snprintf(name, sizeof(name), "p%d-1.egg-info", i);
        write_text(name, "");
    }
    CLEANUP(system_packages_clear) struct system_packages packages = read_root(PACKAGES_PYTHON);
    ck_assert_uint_eq(packages.count, SYSTEM_PACKAGES_LIMIT);
    ck_assert(packages.is_cut);
    CLEANUP(system_packages_clear) struct system_packages late = {.count = 0};
    ck_assert(system_packages_add(PACKAGES_PYTHON, root, 0, &late));
    ck_assert(late.count == 0 && late.is_cut);
    CLEANUP(system_packages_clear) struct system_packages none = {.count = 0};
    ck_assert(system_packages_add(PACKAGES_PYTHON, "/nonexistent", ULLONG_MAX, &none));
    ck_assert(none.count == 0 && !none.is_cut);
}
END_TEST

/* The interpreter's prefix, and what of it a view shows. */
START_TEST(places_of_an_interpreter)
{
    char commands_path[PATH_MAX];
    char packages_path[PATH_MAX];
    char other_path[PATH_MAX];
    make_directory("bin");
    make_directory("lib");
    make_directory("lib/python3.99");
    make_directory("lib/python3.99/site-packages");
    make_directory("further");
    write_text("bin/python3.99", "");
    write_text("lib/python3.99/site-packages/one-1.egg-info", "");
    write_text("further/two-2.egg-info", "");
    make_link("python3.99", "bin/python3");
    path_of("bin/python3.99", commands_path);
    ck_assert_int_eq(chmod(commands_path, 0755), 0);
    path_of("bin", commands_path);
    path_of("lib", packages_path);
    path_of("further", other_path);
    char *commands[] = {commands_path, NULL};
    char *lib[] = {packages_path, NULL};
    char *const *only_lib[] = {lib, NULL};
    struct system_view view = {.commands = commands, .further = other_path};
    for (int round = 0; round < 2; round++) {
        CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
        view.shown = round == 0 ? NULL : only_lib;
        ck_assert(system_packages_read(PACKAGES_PYTHON, &view, &packages));
        expect(&packages, PACKAGES_PYTHON, "one", "1");
        expect(&packages, PACKAGES_PYTHON, "two", round == 0 ? "2" : NULL);
        ck_assert_uint_eq(packages.count, round == 0 ? 2 : 1);
    }
    CLEANUP(system_packages_clear) struct system_packages packages = {.count = 0};
    ck_assert(system_packages_read(PACKAGES_JAVASCRIPT, &view, &packages));
    ck_assert_uint_eq(packages.count, 0); /* no such interpreter */
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("system packages");
    tcase_add_checked_fixture(tests, make_root, remove_root);
    tcase_add_test(tests, packages_of_python);
    tcase_add_test(tests, packages_of_javascript);
    tcase_add_test(tests, no_more_than_the_bounds);
    tcase_add_test(tests, places_of_an_interpreter);
    return run_suite("system packages", &tests, 1);
}
