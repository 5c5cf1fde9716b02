/* SPDX-License-Identifier: Apache-2.0 */
/* Reading addresses of endpoints: see endpoint_address.h. Runs in the gateway on the calling
 * thread. */
#include "policy/endpoint_address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define LABEL_LIMIT 63 /* RFC 1035 */
#define NAME_LIMIT  253

#define NAME_BYTES     ASCII_LOWER ASCII_DIGITS "-"
#define PATH_BYTES     ASCII_ALPHANUMERIC "._~!$&'()+,=:-"
#define HTTP_PORT      80
#define HTTPS_PORT     443
#define PORT_MOST      65535
#define PORT_DIGITS    5
#define ADDRESS_LENGTH 64 /* of a canonical address, with its NUL */

/* The part of a text that has been read so far; error: words for the refusal, NULL: none. */
struct reader {
    const char *at;
    const char *error;
};

static bool fail(struct reader *reader, const char *words)
{
    reader->error = reader->error ? reader->error : words;
    return false;
}

/* Programs take a last label that is a number for an address: decimal, octal or hexadecimal. */
static bool is_number(const char *label, size_t length)
{
    if (length >= 2 && label[0] == '0' && label[1] == 'x')
        return strspn(label + 2, ASCII_LOWER_HEX) >= length - 2;
    return strspn(label, ASCII_DIGITS) >= length;
}

static bool read_label(struct reader *reader, size_t *ret_length)
{
    size_t length = strspn(reader->at, NAME_BYTES);
    if (length == 0)
        return fail(reader, "has a host with an empty part, or with a byte other than a-z, 0-9, "
                            "\".\" and \"-\" (an international name is written as xn--...)");
    if (length > LABEL_LIMIT)
        return fail(reader, "has a host with a part of more than 63 bytes");
    if (reader->at[0] == '-' || reader->at[length - 1] == '-')
        return fail(reader, "has a host with a part that begins or ends with \"-\"");
    *ret_length = length;
    return true;
}

/* A name whose last label is no number; *ret_dots: how many labels follow the first one. */
static bool read_name(struct reader *reader, size_t *ret_dots)
{
    const char *begin = reader->at;
    size_t dots = 0;
    for (;;) {
        size_t length;
        if (!read_label(reader, &length))
            return false;
        const char *label = reader->at;
        reader->at += length;
        if (*reader->at != '.') {
            if (is_number(label, length))
                return fail(reader, "has an address that is not four decimal numbers, each without "
                                    "a zero ahead of it");
            break;
        }
        reader->at++;
        dots++;
    }
    if ((size_t)(reader->at - begin) > NAME_LIMIT)
        return fail(reader, "has a host of more than 253 bytes");
    *ret_dots = dots;
    return true;
}

/* Those that tell a machine about itself are nobody's endpoint; nor is what no connection has. */
static bool ipv4_is_usable(const unsigned char bytes[4])
{
    static const unsigned char metadata[][4] = {{169, 254, 169, 254}, {100, 100, 100, 200}};
    for (size_t i = 0; i < COUNT_OF(metadata); i++)
        if (memcmp(bytes, metadata[i], 4) == 0)
            return false;
    return bytes[0] != 0 && bytes[0] < 224;
}

/* One that has an IPv4 address in it would be a second spelling of that. */
static bool ipv6_is_usable(const unsigned char bytes[16])
{
    static const unsigned char metadata[16] = {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54};
    static const unsigned char loopback[16] = {[15] = 1};
    static const unsigned char zeros[12] = {0};
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char translated[12] = {0x00, 0x64, 0xff, 0x9b};
    static const unsigned char relay[2] = {0x20, 0x02};
    if (memcmp(bytes, loopback, sizeof(loopback)) == 0)
        return true;
    return memcmp(bytes, metadata, sizeof(metadata)) != 0 &&
           memcmp(bytes, zeros, sizeof(zeros)) != 0 && memcmp(bytes, mapped, sizeof(mapped)) != 0 &&
           memcmp(bytes, translated, sizeof(translated)) != 0 &&
           memcmp(bytes, relay, sizeof(relay)) != 0 && bytes[0] != 0xff;
}

/* Exactly the spelling that the C library writes, which for IPv6 is RFC 5952's. */
static bool is_canonical(int family, const char *text, unsigned char ret[16])
{
    char written[ADDRESS_LENGTH];
    return inet_pton(family, text, ret) == 1 && inet_ntop(family, ret, written, sizeof(written)) &&
           strcmp(written, text) == 0;
}

static bool take_address(struct reader *reader, int family, size_t length)
{
    char text[ADDRESS_LENGTH] = "";
    unsigned char bytes[16];
    if (length >= sizeof(text))
        return fail(reader, "has an address that is not in its canonical form");
    memcpy(text, reader->at, length);
    if (!is_canonical(family, text, bytes))
        return fail(reader, family == AF_INET
                                ? "has an address that is not four decimal numbers, each without a "
                                  "zero ahead of it"
                                : "has an address that is not in its canonical form");
    if (family == AF_INET ? !ipv4_is_usable(bytes) : !ipv6_is_usable(bytes))
        return fail(reader, "has an address that no endpoint may have: one of metadata, one for "
                            "many hosts or for none, or an IPv4 address inside of IPv6");
    reader->at += length;
    return true;
}

/* Digits and dots are an address, or nothing. */
static bool looks_like_ipv4(const char *host)
{
    size_t length = strspn(host, NAME_BYTES ".");
    return length > 0 && strspn(host, ASCII_DIGITS ".") == length;
}

static bool read_host(struct reader *reader, struct endpoint_address *address)
{
    size_t dots;
    if (*reader->at == '[') {
        size_t length = strcspn(++reader->at, "]");
        if (reader->at[length] != ']')
            return fail(reader, "has an address without its \"]\"");
        if (!take_address(reader, AF_INET6, length))
            return false;
        reader->at++;
        address->is_local_only = true;
    } else if (looks_like_ipv4(reader->at)) {
        if (!take_address(reader, AF_INET, strspn(reader->at, ASCII_DIGITS ".")))
            return false;
        address->is_local_only = true;
    } else {
        if (!read_name(reader, &dots))
            return false;
        address->is_local_only = dots == 0;
    }
    return true;
}

static bool read_port(struct reader *reader, unsigned long *ret)
{
    size_t length = strspn(reader->at, ASCII_DIGITS);
    unsigned long port = length <= PORT_DIGITS ? strtoul(reader->at, NULL, 10) : 0;
    if (length == 0 || reader->at[0] == '0' || port == 0 || port > PORT_MOST)
        return fail(reader, "has a port that is not a decimal number from 1 to 65535");
    reader->at += length;
    *ret = port;
    return true;
}

static bool read_path(struct reader *reader)
{
    while (*reader->at == '/' && reader->at[1] != '\0') {
        const char *segment = ++reader->at;
        size_t length = strspn(segment, PATH_BYTES);
        if (length == 0)
            return fail(reader, "has an empty part in its path, or a byte that it must not have");
        if (strspn(segment, ".") == length && length <= 2)
            return fail(reader, "has \".\" or \"..\" in its path");
        reader->at += length;
    }
    reader->at += *reader->at == '/';
    return true;
}

static const char *why_not_at_end(const char *rest)
{
    switch (*rest) {
    case '?':
        return "has a query, which a request brings, not the policy";
    case '#':
        return "has a fragment, which is never sent";
    case '@':
        return "has a \"@\", as of a user: credentials are in \"auth\"";
    case '%':
        return "has an escape with \"%\": write the byte itself";
    default:
        return "has a byte that it must not have";
    }
}

static bool expect_end(struct reader *reader)
{
    return *reader->at == '\0' || fail(reader, why_not_at_end(reader->at));
}

/* path: of the address, without a "/" at its end. */
static void write_url(struct endpoint_address *address, const char *host, size_t host_length,
                      unsigned long port, const char *path)
{
    char of_port[PORT_DIGITS + 2] = "";
    size_t length = strlen(path);
    if (port != (address->is_plain ? HTTP_PORT : HTTPS_PORT))
        (void)snprintf(of_port, sizeof(of_port), ":%lu", port);
    length -= length > 0 && path[length - 1] == '/';
    (void)snprintf(address->url, sizeof(address->url), "%s://%.*s%s%.*s",
                   address->is_plain ? "http" : "https", (int)host_length, host, of_port,
                   (int)length, path);
}

static bool read_url(struct reader *reader, struct endpoint_address *ret)
{
    static const char secure[] = "https://", plain[] = "http://";
    ret->is_plain = strncmp(reader->at, plain, strlen(plain)) == 0;
    if (!ret->is_plain && strncmp(reader->at, secure, strlen(secure)) != 0)
        return fail(reader, "must begin with \"https://\" (or with \"http://\", where it is "
                            "\"private\" and has no \"auth\")");
    reader->at += ret->is_plain ? strlen(plain) : strlen(secure);
    if (reader->at[strcspn(reader->at, "@/?#")] == '@')
        return fail(reader, why_not_at_end("@"));
    const char *host = reader->at;
    unsigned long port = ret->is_plain ? HTTP_PORT : HTTPS_PORT;
    if (!read_host(reader, ret))
        return false;
    size_t host_length = (size_t)(reader->at - host);
    if (*reader->at == ':') {
        reader->at++;
        if (!read_port(reader, &port))
            return false;
    }
    const char *path = reader->at;
    if (!read_path(reader) || !expect_end(reader))
        return false;
    write_url(ret, host, host_length, port, path);
    return true;
}

const char *endpoint_url_read(const char *text, struct endpoint_address *ret)
{
    struct reader reader = {.at = text};
    struct endpoint_address address = {.url = ""};
    if (strlen(text) > ENDPOINT_URL_LIMIT)
        return "is longer than 1024 bytes";
    if (!read_url(&reader, &address))
        return reader.error;
    *ret = address;
    return NULL;
}

const char *endpoint_tunnel_read(const char *text, struct endpoint_address *ret)
{
    struct reader reader = {.at = text};
    struct endpoint_address address = {.url = ""};
    unsigned long port;
    size_t dots;
    if (strlen(text) > ENDPOINT_URL_LIMIT)
        return "is longer than 1024 bytes";
    if (text[0] == '[' || looks_like_ipv4(text))
        return "must be HOST:PORT with a name: TLS names no addresses";
    if (!read_name(&reader, &dots))
        return reader.error;
    size_t length = (size_t)(reader.at - text);
    if (*reader.at != ':')
        return "must be HOST:PORT";
    reader.at++;
    if (!read_port(&reader, &port) || !expect_end(&reader))
        return reader.error;
    address.is_local_only = dots == 0;
    write_url(&address, text, length, port, "");
    *ret = address;
    return NULL;
}
