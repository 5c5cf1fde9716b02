/* SPDX-License-Identifier: Apache-2.0 */
/* The image with the guest: the bytes of the layer, and by what an image is known to be one. */
#include <check.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/image/derived_image.h"
#include "backends/docker/image/guest_file.h"
#include "backends/docker/image/guest_pip_text.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define BASE_ID "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define GUEST   "2222222222222222222222222222222222222222222222222222222222222222"
#define SET     "3333333333333333333333333333333333333333333333333333333333333333"
#define BLOCK   512

static const char base_text[] =
    "{\"Id\": \"" BASE_ID "\", \"Architecture\": \"amd64\", \"Os\": \"linux\","
    " \"RepoTags\": [\"a:1\"], \"RootFS\": {\"Type\": \"layers\", \"Layers\": [\"one\", \"two\"]},"
    " \"Config\": {\"User\": \"5\", \"Env\": [\"A=b\"], \"Cmd\": [\"c\"], \"Entrypoint\": null,"
    " \"WorkingDir\": \"\", \"Image\": \"\", \"Volumes\": null, \"Labels\": {\"own\": \"label\"}}}";
static const char image_text[] =
    "{\"Id\": \"x\", \"Architecture\": \"amd64\", \"Os\": \"linux\", \"Variant\": \"\","
    " \"RootFS\": {\"Type\": \"layers\", \"Layers\": [\"one\", \"two\", \"guest\"]},"
    " \"Config\": {\"User\": \"5\", \"Env\": [\"A=b\"], \"Cmd\": [\"c\"], \"Entrypoint\": [],"
    " \"Image\": \"sha256:9\", \"Labels\": {\"own\": \"label\", \"code-execute.base\": \"" BASE_ID
    "\", \"code-execute.guest\": \"" GUEST "\", \"code-execute.boot\": \"\"}}}";

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(json);
    return json;
}

/* Digests of layers that Docker Engine 20.10 has made of such an archive, with the overlay driver;
 * the second is the same without names of owners, as later engines write it. */
START_TEST(the_archive_is_the_layer)
{
    static const struct {
        const char *owner;
        const char *digest;
    } forms[] = {{"root", "05bb6d20a7872c1e72d24284082d8ced30a88b533fa15dd1c9685759c3af46b2"},
                 {"", "8b3773beed04ff7c370138a50f1b6366d8f34461a738d36b4124e4d62fd2bc4a"}};
    static const unsigned char guest[] = "guest\n";
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        char digest[SHA256_DIGEST_STRING_LENGTH];
        size_t length = 0;
        CLEANUP_FREE unsigned char *archive =
            guest_archive_make(guest, sizeof(guest) - 1, forms[i].owner, &length);
        ck_assert_ptr_nonnull(archive);
        (void)SHA256Data(archive, length, digest);
        ck_assert_str_eq(digest, forms[i].digest);
    }
}
END_TEST

/* The directory, the module pip and the links. */
#define INSTALLER_ENTRIES 10

static size_t padded(size_t length)
{
    return (length + BLOCK - 1) / BLOCK * BLOCK;
}

START_TEST(every_size_fits_its_blocks)
{
    static const size_t sizes[] = {1, 511, 512, 513, 100000, GUEST_LIMIT};
    CLEANUP_FREE unsigned char *guest = malloc(GUEST_LIMIT + 1);
    ck_assert_ptr_nonnull(guest);
    memset(guest, 'g', GUEST_LIMIT + 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char size[12];
        size_t length = 0;
        CLEANUP_FREE unsigned char *archive = guest_archive_make(guest, sizes[i], "root", &length);
        ck_assert_ptr_nonnull(archive);
        size_t next = BLOCK + padded(sizes[i]);
        ck_assert_uint_eq(length,
                          next + INSTALLER_ENTRIES * BLOCK + padded(guest_pip_length) + 2 * BLOCK);
        (void)snprintf(size, sizeof(size), "%011zo", sizes[i]);
        ck_assert_mem_eq(archive + 124, size, sizeof(size));
        ck_assert_mem_eq(archive + BLOCK, guest, sizes[i]);
        for (size_t rest = BLOCK + sizes[i]; rest < next; rest++)
            ck_assert_uint_eq(archive[rest], 0);
        ck_assert_str_eq((const char *)archive + next, ".code-execute-installers/");
        for (size_t rest = length - 2 * BLOCK; rest < length; rest++)
            ck_assert_uint_eq(archive[rest], 0);
    }
    size_t length = 7;
    ck_assert_ptr_null(guest_archive_make(guest, 0, "root", &length));
    ck_assert_ptr_null(guest_archive_make(guest, GUEST_LIMIT + 1, "root", &length));
    ck_assert_uint_eq(length, 7);
}
END_TEST

static bool is_right(const json_t *base, const json_t *image, char field[100])
{
    const struct derived_identity identity = {BASE_ID, GUEST, NULL};
    return derived_image_attest(base, &identity, image, field, 100);
}

START_TEST(the_right_image_is_taken)
{
    char field[100] = "";
    json_auto_t *base = parse(base_text);
    json_auto_t *image = parse(image_text);
    ck_assert_msg(is_right(base, image, field), "%s", field);
    ck_assert(!is_right(base, NULL, field));
    ck_assert(!is_right(base, base, field));
    ck_assert_str_eq(derived_image_layer(image), "guest");
    ck_assert_ptr_null(derived_image_layer(NULL));
}
END_TEST

/* An image of no layers at all has one, when the guest is in it. */
START_TEST(an_empty_base_is_one)
{
    char field[100] = "";
    json_auto_t *base = parse(base_text);
    json_auto_t *image = parse(image_text);
    ck_assert_int_eq(json_object_set_new(base, "RootFS", parse("{\"Layers\": null}")), 0);
    ck_assert_int_eq(json_object_set_new(image, "RootFS", parse("{\"Layers\": [\"guest\"]}")), 0);
    ck_assert_msg(is_right(base, image, field), "%s", field);
}
END_TEST

static const struct {
    const char *parent; /* "": the image itself */
    const char *name;
    const char *value; /* JSON */
    const char *field;
} changes[] = {
    {"", "Architecture", "\"arm64\"", "Architecture"},
    {"", "Variant", "\"v7\"", "Variant"},
    {"", "Os", "null", "Os"},
    {"", "OsVersion", "\"10\"", "OsVersion"},
    {"", "RootFS", "null", "RootFS.Layers"},
    {"RootFS", "Layers", "[\"one\", \"two\"]", "RootFS.Layers"},
    {"RootFS", "Layers", "[\"one\", \"guest\", \"two\", \"three\"]", "RootFS.Layers"},
    {"RootFS", "Layers", "[\"one\", \"other\", \"guest\"]", "RootFS.Layers"},
    {"RootFS", "Layers", "{\"0\": \"one\"}", "RootFS.Layers"},
    {"", "Config", "null", "Config.Labels"},
    {"", "Config", "[1]", "Config.Labels"},
    {"Config", "Labels", "null", "Config.Labels"},
    {"Labels", "code-execute.base", "\"x\"", "Config.Labels"},
    {"Labels", "code-execute.guest", "\"x\"", "Config.Labels"},
    {"Labels", "code-execute.guest", "7", "Config.Labels"},
    {"Labels", "own", "\"other\"", "Config.Labels"},
    {"Labels", "more", "\"x\"", "Config.Labels"},
    {"Config", "Env", "[\"A=c\"]", "Config.Env"},
    {"Config", "User", "\"\"", "Config.User"},
    {"Config", "Cmd", "[\"d\"]", "Config.Cmd"},
    {"Config", "Entrypoint", "[\"/.code-execute-guest\"]", "Config.Entrypoint"},
    {"Config", "WorkingDir", "\"/\"", "Config.WorkingDir"},
    {"Config", "Volumes", "{\"/v\": {}}", "Config.Volumes"},
    {"Config", "OnBuild", "[\"RUN x\"]", "Config.OnBuild"},
    {"Config", "Healthcheck", "{\"Test\": [\"CMD\", \"x\"]}", "Config.Healthcheck"},
    {"Config", "AnythingNew", "true", "Config.AnythingNew"},
};

START_TEST(a_changed_member_is_seen)
{
    char field[100] = "";
    json_auto_t *base = parse(base_text);
    json_auto_t *image = parse(image_text);
    const char *name = changes[_i].parent;
    json_t *config = json_object_get(image, "Config");
    json_t *parent = strcmp(name, "Labels") == 0 ? json_object_get(config, "Labels")
                     : name[0]                   ? json_object_get(image, name)
                                                 : image;
    json_t *value = json_loads(changes[_i].value, JSON_DECODE_ANY, NULL);
    ck_assert_int_eq(json_object_set_new(parent, changes[_i].name, value), 0);
    ck_assert(!is_right(base, image, field));
    ck_assert_str_eq(field, changes[_i].field);
}
END_TEST

/* What a commit leaves as it is has to be what was asked for. */
START_TEST(the_configuration_is_the_base_s_with_our_labels)
{
    json_auto_t *base = parse(base_text);
    json_auto_t *owner = parse("{\"code-execute.boot\": \"b\", \"code-execute.pid\": \"7\"}");
    const struct derived_identity identity = {BASE_ID, GUEST, NULL};
    json_auto_t *config = derived_image_config(base, &identity, owner);
    ck_assert_ptr_nonnull(config);
    json_auto_t *expected =
        parse("{\"User\": \"5\", \"Env\": [\"A=b\"], \"Cmd\": [\"c\"], \"Entrypoint\": [],"
              " \"WorkingDir\": \"\", \"Image\": \"\", \"Volumes\": null, \"Labels\": {\"own\": "
              "\"label\","
              " \"code-execute.base\": \"" BASE_ID "\", \"code-execute.guest\": \"" GUEST "\","
              " \"code-execute.boot\": \"\", \"code-execute.pid\": \"\"}}");
    ck_assert(json_equal(config, expected));
    json_auto_t *untouched = parse(base_text);
    ck_assert(json_equal(base, untouched));
    json_auto_t *nothing = parse("{\"Config\": null}");
    json_auto_t *bare = derived_image_config(nothing, &identity, owner);
    ck_assert_uint_eq(json_object_size(json_object_get(bare, "Labels")), 4);
}
END_TEST

/* The image with packages is made from the one with the guest, and is known by both. */
START_TEST(packages_are_one_layer_more)
{
    const struct derived_identity identity = {BASE_ID, GUEST, SET};
    char field[100] = "";
    json_auto_t *with_guest = parse(image_text);
    json_auto_t *owner = parse("{\"code-execute.boot\": \"b\"}");
    json_auto_t *image = parse(image_text);
    json_auto_t *config = derived_image_config(with_guest, &identity, owner);
    const json_t *labels = json_object_get(config, "Labels");
    ck_assert_str_eq(json_string_value(json_object_get(labels, DERIVED_LABEL_PACKAGES)), SET);
    ck_assert_str_eq(json_string_value(json_object_get(labels, DERIVED_LABEL_BASE)), BASE_ID);
    ck_assert_int_eq(json_object_set(image, "Config", config), 0);
    ck_assert(!derived_image_attest(with_guest, &identity, image, field, sizeof(field)));
    ck_assert_str_eq(field, "RootFS.Layers");
    json_t *layers = json_object_get(json_object_get(image, "RootFS"), "Layers");
    ck_assert_int_eq(json_array_append_new(layers, json_string("set")), 0);
    ck_assert_msg(derived_image_attest(with_guest, &identity, image, field, sizeof(field)), "%s",
                  field);
    const struct derived_identity other = {BASE_ID, GUEST, GUEST};
    ck_assert(!derived_image_attest(with_guest, &other, image, field, sizeof(field)));
    ck_assert_str_eq(field, "Config.Labels");
}
END_TEST

START_TEST(an_entry_is_of_a_set_or_of_none)
{
    json_auto_t *with = parse("{\"Labels\": {\"code-execute.packages\": \"" SET "\","
                              " \"code-execute.base\": \"b\", \"code-execute.guest\": \"g\"},"
                              " \"Created\": 11}");
    json_auto_t *without = parse("{\"Labels\": {\"code-execute.base\": \"b\","
                                 " \"code-execute.guest\": \"g\"}, \"Created\": 10}");
    ck_assert(derived_image_has_packages(with, SET));
    ck_assert(!derived_image_has_packages(with, NULL));
    ck_assert(!derived_image_has_packages(with, GUEST));
    ck_assert(derived_image_has_packages(without, NULL));
    ck_assert(!derived_image_has_packages(without, SET));
    ck_assert(!derived_image_replaces(with, without));
    ck_assert_int_eq(json_object_set_new(without, "Created", json_integer(12)), 0);
    ck_assert(!derived_image_replaces(without, with));
    json_auto_t *newer = json_deep_copy(with);
    ck_assert_int_eq(json_object_set_new(newer, "Created", json_integer(12)), 0);
    ck_assert(derived_image_replaces(newer, with));
}
END_TEST

START_TEST(the_container_runs_nothing_and_has_nothing)
{
    json_auto_t *base = parse(base_text);
    json_auto_t *labels = parse("{\"a\": \"b\"}");
    json_auto_t *config = derived_image_container(base, BASE_ID, "{}", labels);
    const json_t *host = json_object_get(config, "HostConfig");
    ck_assert_str_eq(json_string_value(json_object_get(config, "Image")), BASE_ID);
    ck_assert_ptr_null(json_object_get(config, "WorkingDir"));
    ck_assert_str_eq(json_string_value(json_object_get(host, "NetworkMode")), "none");
    ck_assert_int_eq(
        json_object_set_new(json_object_get(base, "Config"), "WorkingDir", json_string("/app")), 0);
    json_auto_t *elsewhere = derived_image_container(base, BASE_ID, "{}", labels);
    ck_assert_str_eq(json_string_value(json_object_get(elsewhere, "WorkingDir")), "/");
}
END_TEST

START_TEST(only_a_known_layer_is_the_guest)
{
    static const struct guest_identity guest = {.layers = {"sha256:a", "sha256:b"}};
    ck_assert(derived_image_layer_is_known(&guest, "sha256:a"));
    ck_assert(derived_image_layer_is_known(&guest, "sha256:b"));
    ck_assert(!derived_image_layer_is_known(&guest, "sha256:c"));
    ck_assert(!derived_image_layer_is_known(&guest, ""));
    ck_assert(!derived_image_layer_is_known(&guest, NULL));
}
END_TEST

static const struct {
    const char *entry;
    bool ours;
} entries[] = {
    {"{\"Labels\": {\"code-execute.base\": \"x\", \"code-execute.guest\": \"y\"}}", true},
    {"{\"Labels\": {\"code-execute.base\": \"x\", \"code-execute.guest\": \"y\"},"
     " \"RepoTags\": [\"<none>:<none>\"], \"RepoDigests\": [\"<none>@<none>\"]}",
     true},
    {"{\"Labels\": {\"code-execute.base\": \"x\", \"code-execute.guest\": \"y\"},"
     " \"RepoTags\": null, \"RepoDigests\": []}",
     true},
    {"{\"Labels\": {\"code-execute.base\": \"x\", \"code-execute.guest\": \"y\"},"
     " \"RepoTags\": [\"a:1\"]}",
     false},
    {"{\"Labels\": {\"code-execute.base\": \"x\", \"code-execute.guest\": \"y\"},"
     " \"RepoTags\": [\"<none>:<none>\"], \"RepoDigests\": [\"a@sha256:1\"]}",
     false},
    {"{\"Labels\": {\"code-execute.base\": \"x\"}}", false},
    {"{\"Labels\": {\"code-execute.guest\": \"x\"}}", false},
    {"{\"Labels\": null}", false},
    {"[]", false},
};

START_TEST(an_image_with_a_name_is_somebody_else_s)
{
    json_auto_t *entry = parse(entries[_i].entry);
    ck_assert_int_eq(derived_image_is_ours(entry), entries[_i].ours);
}
END_TEST

START_TEST(a_newer_twin_replaces)
{
    static const char text[] = "{\"Labels\": {\"code-execute.base\": \"%s\","
                               " \"code-execute.guest\": \"%s\"}, \"Created\": %d}";
    static const struct {
        const char *base;
        const char *guest;
        int created;
        bool replaces;
    } others[] = {{"b", "g", 11, true},
                  {"b", "g", 10, false},
                  {"b", "g", 9, false},
                  {"c", "g", 11, false},
                  {"b", "h", 11, false}};
    char line[200];
    (void)snprintf(line, sizeof(line), text, "b", "g", 10);
    json_auto_t *entry = parse(line);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        (void)snprintf(line, sizeof(line), text, others[i].base, others[i].guest,
                       others[i].created);
        json_auto_t *other = parse(line);
        ck_assert_int_eq(derived_image_replaces(other, entry), others[i].replaces);
    }
    ck_assert(derived_image_is_older(entry, 21, 10));
    ck_assert(!derived_image_is_older(entry, 20, 10));
    json_auto_t *undated = parse("{\"Created\": \"2020\"}");
    ck_assert(!derived_image_is_older(undated, INT64_MAX, 10));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("docker image");
    tcase_add_test(cases, the_archive_is_the_layer);
    tcase_add_test(cases, every_size_fits_its_blocks);
    tcase_add_test(cases, the_right_image_is_taken);
    tcase_add_test(cases, an_empty_base_is_one);
    tcase_add_loop_test(cases, a_changed_member_is_seen, 0, COUNT_OF(changes));
    tcase_add_test(cases, the_configuration_is_the_base_s_with_our_labels);
    tcase_add_test(cases, packages_are_one_layer_more);
    tcase_add_test(cases, an_entry_is_of_a_set_or_of_none);
    tcase_add_test(cases, the_container_runs_nothing_and_has_nothing);
    tcase_add_test(cases, only_a_known_layer_is_the_guest);
    tcase_add_loop_test(cases, an_image_with_a_name_is_somebody_else_s, 0, COUNT_OF(entries));
    tcase_add_test(cases, a_newer_twin_replaces);
    return run_suite("docker image", &cases, 1);
}
