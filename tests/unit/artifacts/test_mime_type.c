/* SPDX-License-Identifier: Apache-2.0 */
/* mime_type: content before ending, and active by either. */
#include <string.h>

#include "artifacts/artifact.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define TEXT(text)   text, sizeof(text) - 1, true
#define BINARY(text) text, sizeof(text) - 1, false

static const struct {
    const char *path;
    const char *bytes;
    size_t length;
    bool is_text;
    const char *type;
    bool active;
} cases[] = {
    {"a", TEXT(""), "text/plain", false},
    {"a.csv", TEXT("a,b"), "text/csv", false},
    {"d.x/a", TEXT("a,b"), "text/plain", false},
    {"a.CSV", TEXT("a,b"), "text/csv", false},
    {"a.png", TEXT("no picture"), "text/plain", false},
    {"a.csv", BINARY("\x89PNG\r\n\x1a\n\0"), "image/png", false},
    {"a.html", BINARY("\x89PNG\r\n\x1a\n\0"), "image/png", true},
    {"a.xlsx", BINARY("PK\x03\x04\0"),
     "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false},
    {"a.zip", BINARY("PK\x03\x04\0"), "application/zip", false},
    {"a", BINARY("\0\1"), "application/octet-stream", false},
    {"a.npy", BINARY("\x93NUMPY\0"), "application/x-npy", false},
    {"a", TEXT("\xef\xbb\xbf \n<HTML>"), "text/html", true},
    {"a.csv", TEXT("<script>"), "text/html", true},
    {"a.txt", TEXT("<?xml version=\"1.0\"?>\n<SVG>"), "image/svg+xml", true},
    {"a.txt", TEXT("<?xml version=\"1.0\"?>\n<a>"), "application/xml", true},
    {"a.svg", TEXT("anything"), "image/svg+xml", true},
    {"a.txt", TEXT("%PDF-1.7 all ASCII"), "application/pdf", true},
    {"a.txt", TEXT("ID3 is a tag, BZh another"), "text/plain", false},
    {"a.md", TEXT("# x"), "text/markdown", false},
};

START_TEST(type)
{
    struct mime_type found = mime_type_of(cases[_i].path, (const unsigned char *)cases[_i].bytes,
                                          cases[_i].length, cases[_i].is_text);
    ck_assert_str_eq(found.name, cases[_i].type);
    ck_assert_msg(found.active == cases[_i].active, "%s", cases[_i].path);
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("mime_type")};
    tcase_add_loop_test(parts[0], type, 0, (int)COUNT_OF(cases));
    return run_suite("mime_type", parts, COUNT_OF(parts));
}
