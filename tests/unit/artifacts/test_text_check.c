/* SPDX-License-Identifier: Apache-2.0 */
/* text_check: the verdict on a text is the same wherever it is cut. */
#include <string.h>

#include "artifacts/text_check.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static const struct {
    const char *bytes;
    size_t length;
    bool is_text;
} cases[] = {
    {"", 0, true},
    {"plain\n\t\x1b", 8, true},
    {"a\0b", 3, false},
    {"gr\xc3\xbc\xc3\x9f", 6, true},
    {"\xe2\x82\xac\xf0\x9f\x98\x80x", 8, true},
    {"\xff", 1, false},
    {"a\xc3", 2, false},
    {"a\xe2\x82", 3, false},
    {"\xc3"
     "a",
     2, false},
    {"\xed\xa0\x80", 3, false},
    {"\xf0\x80\x80\x80", 4, false},
    {"\x80", 1, false},
    {"ok\xf4\x90\x80\x80", 6, false},
};

static bool verdict(const unsigned char *bytes, size_t length, size_t cut)
{
    struct text_check check = {.failed = false};
    for (size_t done = 0; done < length;) {
        size_t count = length - done < cut ? length - done : cut;
        text_check_add(&check, bytes + done, count);
        done += count;
    }
    return text_check_passed(&check);
}

START_TEST(each_cut)
{
    const unsigned char *bytes = (const unsigned char *)cases[_i].bytes;
    for (size_t cut = 1; cut <= 8; cut++)
        ck_assert_msg(verdict(bytes, cases[_i].length, cut) == cases[_i].is_text,
                      "case %d cut by %zu", _i, cut);
}
END_TEST

int main(void)
{
    TCase *parts[] = {tcase_create("text_check")};
    tcase_add_loop_test(parts[0], each_cut, 0, (int)COUNT_OF(cases));
    return run_suite("text_check", parts, COUNT_OF(parts));
}
