/* SPDX-License-Identifier: Apache-2.0 */
/* traceparent: the form that W3C Trace Context demands, and each way to miss it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "call/context.h"
#include "tap_suite.h"

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define WHOLE  "00-" TRACE "-" PARENT "-01"

START_TEST(known_forms)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {WHOLE, true},
        {"00-" TRACE "-" PARENT "-00", true},
        {"cc-" TRACE "-" PARENT "-01", true},
        {"cc-" TRACE "-" PARENT "-01-what-comes-later", true},
        {"cc-" TRACE "-" PARENT "-01.later", false},
        {"cc-" TRACE "-" PARENT "-01x", false},
        {WHOLE "-later", false},
        {"ff-" TRACE "-" PARENT "-01", false},
        {"00-00000000000000000000000000000000-" PARENT "-01", false},
        {"00-" TRACE "-0000000000000000-01", false},
        {"00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01", false},
        {"0-" TRACE "-" PARENT "-01", false},
        {"00-" TRACE "0-" PARENT "-01", false},
        {"00-" TRACE "-" PARENT "-1", false},
        {"00-" TRACE "-" PARENT, false},
        {"00_" TRACE "-" PARENT "-01", false},
        {"00-" TRACE "_" PARENT "-01", false},
        {"00-" TRACE "-" PARENT "_01", false},
        {" " WHOLE, false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_msg(traceparent_is_valid(cases[i].text) == cases[i].valid, "%s", cases[i].text);
}
END_TEST

/* Cut off anywhere, and with any character changed to one that is no digit. */
START_TEST(one_thing_wrong)
{
    char text[] = WHOLE;
    for (size_t i = 0; i < sizeof(WHOLE) - 1; i++) {
        text[i] = '\0';
        ck_assert_msg(!traceparent_is_valid(text), "%s", text);
        text[i] = 'g';
        ck_assert_msg(!traceparent_is_valid(text), "%s", text);
        text[i] = WHOLE[i];
    }
    ck_assert(traceparent_is_valid(text));
}
END_TEST

START_TEST(later_versions_have_a_limit)
{
    char text[400] = "cc-" TRACE "-" PARENT "-01-";
    memset(text + strlen(text), 'x', 256 - strlen(text));
    ck_assert(traceparent_is_valid(text));
    text[256] = 'x';
    ck_assert(!traceparent_is_valid(text));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("traceparent")};
    tcase_add_test(cases[0], known_forms);
    tcase_add_test(cases[0], one_thing_wrong);
    tcase_add_test(cases[0], later_versions_have_a_limit);
    return run_suite("traceparent", cases, COUNT_OF(cases));
}
