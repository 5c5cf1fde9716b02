/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of a WebSocket's grant: see upgrade.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/api/upgrade.h"

#include <string.h>
#include <strings.h>

#include "backends/kubernetes/api/websocket.h"

#define STATUS_GRANTED 101
#define VALUE_LIMIT    128

/* The one header of that name: false where it is not there, twice, or too long. The head has no
 * NUL. */
static bool find_header(const struct upgrade *upgrade, const char *name, char ret[VALUE_LIMIT])
{
    size_t name_length = strlen(name);
    const char *end = upgrade->head + upgrade->body;
    bool is_found = false;
    for (const char *line = strstr(upgrade->head, "\r\n") + 2; line < end - 2;
         line = strstr(line, "\r\n") + 2) {
        if (strncasecmp(line, name, name_length) != 0 || line[name_length] != ':')
            continue;
        const char *value = line + name_length + 1;
        value += strspn(value, " \t");
        size_t length = strcspn(value, "\r");
        while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
            length--;
        if (is_found || length >= VALUE_LIMIT)
            return false;
        memcpy(ret, value, length);
        ret[length] = '\0';
        is_found = true;
    }
    return is_found;
}

static bool is_granted(struct upgrade *upgrade, const char *key)
{
    char value[VALUE_LIMIT];
    if (!find_header(upgrade, "Upgrade", value) || strcasecmp(value, "websocket") != 0 ||
        !find_header(upgrade, "Connection", value) || strcasecmp(value, "upgrade") != 0 ||
        !find_header(upgrade, "Sec-WebSocket-Accept", value) || !websocket_is_answer(key, value) ||
        find_header(upgrade, "Sec-WebSocket-Extensions", value) ||
        !find_header(upgrade, "Sec-WebSocket-Protocol", value))
        return false;
    if (strcmp(value, UPGRADE_V5) == 0)
        upgrade->protocol = 5;
    else if (strcmp(value, UPGRADE_V4) == 0)
        upgrade->protocol = 4;
    return upgrade->protocol;
}

/* The length of a refusal's body; without Content-Length, as long as there is room. */
static size_t body_length(const struct upgrade *upgrade)
{
    char value[VALUE_LIMIT];
    size_t length = 0;
    if (!find_header(upgrade, "Content-Length", value))
        return 0;
    for (const char *c = value; *c >= '0' && *c <= '9' && length < UPGRADE_HEAD_LIMIT; c++)
        length = 10 * length + (size_t)(*c - '0');
    return length;
}

/* "HTTP/1.1 101 ..." */
static bool read_status(struct upgrade *upgrade)
{
    const char *head = upgrade->head;
    if (strncmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ' || strlen(head) != upgrade->length)
        return false;
    for (size_t i = 9; i < 12; i++) {
        if (head[i] < '0' || head[i] > '9')
            return false;
        upgrade->status = 10 * upgrade->status + (head[i] - '0');
    }
    return upgrade->status >= 100 && (head[12] == ' ' || head[12] == '\r');
}

static enum upgrade_state judge_head(struct upgrade *upgrade, const char *key)
{
    if (!read_status(upgrade))
        return UPGRADE_BROKEN;
    if (upgrade->status == STATUS_GRANTED)
        return is_granted(upgrade, key) ? UPGRADE_GRANTED : UPGRADE_BROKEN;
    return upgrade->status < 200 ? UPGRADE_BROKEN : UPGRADE_REFUSED;
}

/* Bytes of a refusal's body that are still to come and have room. */
static size_t body_left(const struct upgrade *upgrade)
{
    size_t wanted = upgrade->body + body_length(upgrade);
    size_t most = wanted < UPGRADE_HEAD_LIMIT ? wanted : UPGRADE_HEAD_LIMIT;
    return most > upgrade->length ? most - upgrade->length : 0;
}

static enum upgrade_state feed_body(struct upgrade *upgrade, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken)
{
    size_t left = body_left(upgrade);
    size_t count = length < left ? length : left;
    memcpy(upgrade->head + upgrade->length, bytes, count);
    upgrade->length += count;
    *ret_taken += count;
    return count < left ? UPGRADE_MORE : UPGRADE_REFUSED;
}

enum upgrade_state upgrade_feed(struct upgrade *upgrade, const char *key,
                                const unsigned char *bytes, size_t length, size_t *ret_taken)
{
    *ret_taken = 0;
    while (!upgrade->body && *ret_taken < length) {
        if (upgrade->length == UPGRADE_HEAD_LIMIT)
            return UPGRADE_BROKEN;
        upgrade->head[upgrade->length++] = (char)bytes[(*ret_taken)++];
        if (upgrade->length >= 4 &&
            memcmp(upgrade->head + upgrade->length - 4, "\r\n\r\n", 4) == 0) {
            upgrade->body = upgrade->length;
            enum upgrade_state state = judge_head(upgrade, key);
            if (state != UPGRADE_REFUSED)
                return state;
        }
    }
    if (!upgrade->body)
        return UPGRADE_MORE;
    return feed_body(upgrade, bytes + *ret_taken, length - *ret_taken, ret_taken);
}

const char *upgrade_body(const struct upgrade *upgrade, size_t *ret_length)
{
    *ret_length = upgrade->length - upgrade->body;
    return upgrade->head + upgrade->body;
}
