/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of capabilities, and reading lists of them. Runs in the gateway on any thread.
 */
#include "vocabulary/capability.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "vocabulary/endpoint.h"
#include "vocabulary/handle.h"
#include "vocabulary/pattern.h"

#define HOST_LIMIT 253 /* RFC 1035 */

static const struct {
    const char *name;
    bool default_grant;
    const char *meaning;
} capabilities[CAPABILITY_COUNT] = {
#define X(constant, name_, default_grant_, meaning_) {name_, default_grant_, meaning_},
    CAPABILITIES(X)
#undef X
};

struct entry {
    bool denial;
    enum capability capability;
    const char *parameter; /* NULL: none */
};

const char *capability_name(enum capability capability)
{
    return capabilities[capability].name;
}

const char *capability_meaning(enum capability capability)
{
    return capabilities[capability].meaning;
}

bool capability_is_default_grant(enum capability capability)
{
    return capabilities[capability].default_grant;
}

void capability_text(enum capability capability, const char *parameter,
                     char ret[CAPABILITY_TEXT_SIZE])
{
    (void)snprintf(ret, CAPABILITY_TEXT_SIZE, "%s%s%s", capability_name(capability),
                   parameter ? "=" : "", parameter ? parameter : "");
}

/* false where the name is none of the table. */
static bool read_entry(const char *text, struct entry *ret)
{
    struct entry entry = {.denial = text[0] == '!'};
    const char *name = text + (entry.denial ? 1 : 0);
    size_t length = strcspn(name, "=");
    if (name[length] == '=')
        entry.parameter = name + length + 1;
    for (size_t i = 0; i < CAPABILITY_COUNT; i++) {
        if (strlen(capabilities[i].name) != length ||
            memcmp(capabilities[i].name, name, length) != 0)
            continue;
        entry.capability = (enum capability)i;
        *ret = entry;
        return true;
    }
    return false;
}

static bool is_port(const char *text)
{
    size_t length = strspn(text, "0123456789");
    uint32_t port = 0;
    if (length == 0 || length > 5 || text[length] != '\0' || text[0] == '0')
        return false;
    for (; *text != '\0'; text++)
        port = port * 10 + (uint32_t)(*text - '0');
    return port <= UINT16_MAX;
}

/* One spelling only, so that a denial is not passed by another. */
static bool is_host_and_port(const char *text)
{
    static const char of_names[] = ASCII_LOWER ASCII_DIGITS ".-";
    static const char of_addresses[] = ASCII_LOWER_HEX ":.";
    bool address = text[0] == '[';
    const char *host = text + (address ? 1 : 0);
    size_t length = strspn(host, address ? of_addresses : of_names);
    const char *behind = host + length;
    if (length == 0 || length > HOST_LIMIT)
        return false;
    if (address && *behind++ != ']')
        return false;
    return *behind == ':' && is_port(behind + 1);
}

bool capability_entry_valid(const char *text)
{
    struct entry entry;
    if (!read_entry(text, &entry))
        return false;
    if (!entry.parameter)
        return true;
    if (entry.capability == CAPABILITY_SECRETS)
        return handle_name_valid(entry.parameter, strlen(entry.parameter));
    if (entry.capability == CAPABILITY_TOOLS)
        return tool_name_valid(entry.parameter);
    if (entry.capability == CAPABILITY_ENDPOINTS)
        return endpoint_name_valid(entry.parameter);
    return entry.capability == CAPABILITY_NETWORK && is_host_and_port(entry.parameter);
}

/* wanted NULL: all of it */
static bool is_same(const char *parameter, const char *wanted)
{
    return wanted && strcmp(parameter, wanted) == 0;
}

bool capability_list_grants(char *const *list, enum capability capability, const char *parameter)
{
    bool granted = false;
    for (; *list; list++) {
        struct entry entry;
        if (!read_entry(*list, &entry) || entry.capability != capability)
            continue;
        if (entry.denial && (!entry.parameter || !parameter || is_same(entry.parameter, parameter)))
            return false;
        if (!entry.denial && (!entry.parameter || is_same(entry.parameter, parameter)))
            granted = true;
    }
    return granted;
}

bool capability_list_covers(char *const *list, const char *text)
{
    struct entry entry = {.denial = true};
    (void)read_entry(text, &entry);
    return entry.denial || capability_list_grants(list, entry.capability, entry.parameter);
}
