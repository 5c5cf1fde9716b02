/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the check for text: see text_check.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "artifacts/text_check.h"

#include <string.h>

#include "base/utf8.h"

/* Completes the sequence that was cut; how many bytes that took. */
static size_t close_sequence(struct text_check *check, const unsigned char *bytes, size_t length)
{
    size_t taken = 0;
    while (check->open_length > 0 && taken < length && !check->failed) {
        check->open[check->open_length++] = bytes[taken++];
        if (utf8_sequence(check->open, check->open_length) > 0)
            check->open_length = 0;
        else if (check->open_length == sizeof(check->open) ||
                 utf8_whole_prefix(check->open, check->open_length) > 0)
            check->failed = true;
    }
    return taken;
}

void text_check_add(struct text_check *check, const unsigned char *bytes, size_t length)
{
    if (check->failed)
        return;
    size_t taken = close_sequence(check, bytes, length);
    size_t whole = taken + utf8_whole_prefix(bytes + taken, length - taken);
    while (taken < whole && !check->failed) {
        while (taken < whole && bytes[taken] - 1U < 0x7f) /* most of most texts */
            taken++;
        if (taken == whole)
            break;
        size_t sequence = bytes[taken] == 0 ? 0 : utf8_sequence(bytes + taken, whole - taken);
        check->failed = sequence == 0;
        taken += sequence;
    }
    if (check->failed || taken == length)
        return;
    check->open_length = length - taken;
    check->failed = check->open_length >= sizeof(check->open);
    if (!check->failed)
        memcpy(check->open, bytes + taken, check->open_length);
}

bool text_check_passed(const struct text_check *check)
{
    return !check->failed && check->open_length == 0;
}
