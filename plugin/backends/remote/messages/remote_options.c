/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the messages between gateway and remote backend: see remote_options.h. */
#include "backends/remote/messages/remote_options.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "protocol/wire_fields.h"

#define STRING(member, limit) WIRE_STRING(struct remote_options, member, limit)
#define PATH(member)          WIRE_PATH(struct remote_options, member, PATH_MAX - 1)
#define LINE_LIMIT            (REMOTE_DNS_NAME_LIMIT + 1 + REMOTE_ADDRESS_LIMIT)
#define BLANKS                " \t\r\n"
#define HIGHEST_PORT          65535

static const struct wire_field option_fields[] = {
    WIRE_STRINGS(struct remote_options, workers, REMOTE_WORKERS_MOST, LINE_LIMIT),
    STRING(discover_dns, REMOTE_ADDRESS_LIMIT),
    STRING(discover_name, REMOTE_DNS_NAME_LIMIT),
    PATH(discover_file),
    PATH(authority),
    PATH(certificate),
    PATH(key),
    STRING(mode, REMOTE_WORKER_MODE_LIMIT),
};

bool remote_options_write(const struct remote_options *options, struct wire_bytes *ret)
{
    return wire_write_structure(option_fields, COUNT_OF(option_fields), options, RUN_OPTIONS_LIMIT,
                                ret);
}

bool remote_options_read(const struct wire_bytes *bytes, struct remote_options *ret)
{
    struct remote_options options = {.workers = NULL};
    if (!wire_read_structure(option_fields, COUNT_OF(option_fields), bytes, &options))
        return false;
    *ret = options;
    return true;
}

void remote_options_clear(struct remote_options *options)
{
    wire_release_fields(option_fields, COUNT_OF(option_fields), options);
}

static bool parse_port(const char *text, char ret[6])
{
    unsigned port = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 5)
        return false;
    for (const char *c = text; *c != '\0'; c++) {
        if (!ascii_is_digit(*c))
            return false;
        port = port * 10 + (unsigned)(*c - '0');
    }
    if (port == 0 || port > HIGHEST_PORT)
        return false;
    memcpy(ret, text, length + 1);
    return true;
}

static bool is_host(const char *host)
{
    return ascii_consists_of(host, REMOTE_DNS_NAME_LIMIT, ASCII_ALPHANUMERIC "-._") &&
           host[0] != '-' && host[0] != '.';
}

bool remote_address_parse(const char *text, struct remote_address *ret)
{
    struct remote_address address = {.host = ""};
    struct in6_addr numeric;
    bool bracketed = text[0] == '[';
    const char *colon = strrchr(text, ':');
    if (!colon)
        return false;
    const char *begin = text + bracketed;
    const char *end = bracketed ? colon - 1 : colon;
    if (end <= begin || (bracketed && *end != ']') ||
        (size_t)(end - begin) >= sizeof(address.host) || !parse_port(colon + 1, address.port))
        return false;
    memcpy(address.host, begin, (size_t)(end - begin));
    if (bracketed ? inet_pton(AF_INET6, address.host, &numeric) != 1 : !is_host(address.host))
        return false;
    *ret = address;
    return true;
}

bool remote_name_is_valid(const char *name)
{
    if (!ascii_consists_of(name, REMOTE_DNS_NAME_LIMIT, ASCII_LOWER ASCII_DIGITS "-."))
        return false;
    return !strchr("-.", name[0]) && !strchr("-.", name[strlen(name) - 1]) && !strstr(name, "..");
}

/* The next word of the line, which must be shorter than size; NULL: there is none. */
static const char *take_word(const char *line, char *ret, size_t size)
{
    const char *begin = line + strspn(line, BLANKS);
    size_t length = strcspn(begin, BLANKS);
    if (length == 0 || length >= size)
        return NULL;
    memcpy(ret, begin, length);
    ret[length] = '\0';
    return begin + length;
}

bool remote_place_parse(const char *line, struct remote_place *ret)
{
    struct remote_place place = {.name = ""};
    struct remote_address address;
    const char *rest = take_word(line, place.name, sizeof(place.name));
    rest = rest ? take_word(rest, place.address, sizeof(place.address)) : NULL;
    if (!rest || rest[strspn(rest, BLANKS)] != '\0' || !remote_name_is_valid(place.name) ||
        !remote_address_parse(place.address, &address))
        return false;
    *ret = place;
    return true;
}

#define TEXT(member) WIRE_TEXT(struct remote_details, member)

static const struct wire_field detail_fields[] = {
    TEXT(worker),
    TEXT(attested_by),
    TEXT(address),
    TEXT(mode),
};

void remote_details_write(const struct remote_details *details, struct run_details *ret)
{
    struct wire_writer writer = {
        .bytes = ret->bytes, .capacity = sizeof(ret->bytes), .limit = sizeof(ret->bytes)};
    wire_put_fields(&writer, detail_fields, COUNT_OF(detail_fields), details);
    ret->length = writer.failed ? 0 : (uint32_t)writer.length;
}

struct remote_details remote_details_read(const struct run_details *details)
{
    struct wire_reader reader = {.bytes = details->bytes, .length = details->length};
    struct remote_details read = {.worker = ""};
    wire_get_fields(&reader, detail_fields, COUNT_OF(detail_fields), &read);
    if (reader.failed || reader.offset != reader.length)
        return (struct remote_details){.worker = ""};
    return read;
}
