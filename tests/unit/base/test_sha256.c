/* SPDX-License-Identifier: Apache-2.0 */
/* sha256: our own gives what libmd gives, for every length around a block and however it is cut. */
#include <sha256.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "tap_suite.h"

#define LENGTHS 300

static void fill(unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 131 + length);
}

START_TEST(every_length_has_libmds_hash)
{
    unsigned char bytes[LENGTHS];
    for (size_t length = 0; length < LENGTHS; length++) {
        char expected[SHA256_DIGEST_STRING_LENGTH];
        char whole[SHA256_TEXT_LENGTH + 1];
        struct sha256 hash;
        fill(bytes, length);
        (void)SHA256Data(bytes, length, expected);
        sha256_begin(&hash);
        sha256_add(&hash, bytes, length);
        sha256_end(&hash, whole);
        ck_assert_str_eq(whole, expected);
    }
}
END_TEST

START_TEST(pieces_have_the_hash_of_the_whole)
{
    unsigned char bytes[LENGTHS];
    char expected[SHA256_DIGEST_STRING_LENGTH];
    fill(bytes, LENGTHS);
    (void)SHA256Data(bytes, LENGTHS, expected);
    for (size_t piece = 1; piece <= LENGTHS; piece++) {
        char text[SHA256_TEXT_LENGTH + 1];
        struct sha256 hash;
        sha256_begin(&hash);
        for (size_t done = 0; done < LENGTHS; done += piece)
            sha256_add(&hash, bytes + done, LENGTHS - done < piece ? LENGTHS - done : piece);
        sha256_end(&hash, text);
        ck_assert_str_eq(text, expected);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("sha256")};
    tcase_add_test(cases[0], every_length_has_libmds_hash);
    tcase_add_test(cases[0], pieces_have_the_hash_of_the_whole);
    return run_suite("sha256", cases, COUNT_OF(cases));
}
