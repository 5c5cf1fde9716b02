/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the table of address classes: see address.h. Runs in the broker. */
#include "backends/egress/rules/address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

struct network {
    uint8_t prefix[16];
    uint8_t bits;
    bool never; /* also where the endpoint is private */
    const char *class;
};

/* Of IPv4, in the first four bytes. */
static const struct network networks4[] = {
    {{169, 254, 169, 254}, 32, true, "a cloud's metadata service"},
    {{169, 254, 170, 2}, 32, true, "a cloud's metadata service"},
    {{100, 100, 100, 200}, 32, true, "a cloud's metadata service"},
    {{168, 63, 129, 16}, 32, true, "a cloud's metadata service"},
    {{192, 0, 0, 192}, 32, true, "a cloud's metadata service"},
    {{0}, 8, true, "this host on this network"},
    {{224}, 4, true, "multicast"},
    {{255, 255, 255, 255}, 32, true, "broadcast"},
    {{10}, 8, false, "private"},
    {{100, 64}, 10, false, "shared address space"},
    {{127}, 8, false, "loopback"},
    {{169, 254}, 16, false, "link-local"},
    {{172, 16}, 12, false, "private"},
    {{192, 0, 0}, 24, false, "protocol assignments"},
    {{192, 0, 2}, 24, false, "documentation"},
    {{192, 31, 196}, 24, false, "special purpose"},
    {{192, 52, 193}, 24, false, "special purpose"},
    {{192, 88, 99}, 24, false, "6to4 relay"},
    {{192, 168}, 16, false, "private"},
    {{192, 175, 48}, 24, false, "special purpose"},
    {{198, 18}, 15, false, "benchmarking"},
    {{198, 51, 100}, 24, false, "documentation"},
    {{203, 0, 113}, 24, false, "documentation"},
    {{240}, 4, false, "reserved"},
};

/* Of IPv6. Public is 2000::/3 without these; all else is refused by the last row. */
static const struct network networks6[] = {
    {{0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, true, "a cloud's metadata service"},
    {{0xfd, 0x20, 0, 0xce, [14] = 0x02, [15] = 0x54}, 128, true, "a cloud's metadata service"},
    {{0xff}, 8, true, "multicast"},
    {{0}, 128, true, "no address"},
    {{[15] = 1}, 128, false, "loopback"},
    {{0xfc}, 7, false, "unique local"},
    {{0xfe, 0x80}, 10, false, "link-local"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, false, "documentation"},
    {{0x3f, 0xff}, 20, false, "documentation"},
    {{0x20, 0x01}, 23, false, "protocol assignments"},
};

/* Those with an IPv4 address inside, and its place. The inner address decides. */
static const struct embedding {
    uint8_t prefix[16];
    uint8_t bits;
    uint8_t offset;
    bool inverted; /* Teredo */
} embeddings[] = {
    {{[10] = 0xff, [11] = 0xff}, 96, 12, false},  /* mapped */
    {{[8] = 0xff, [9] = 0xff}, 96, 12, false},    /* translated */
    {{0, 0x64, 0xff, 0x9b}, 96, 12, false},       /* NAT64 */
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, 12, false}, /* NAT64 of a local prefix */
    {{0x20, 0x02}, 16, 2, false},                 /* 6to4 */
    {{0x20, 0x01, 0, 0}, 32, 12, true},           /* Teredo */
};

static bool has_prefix(const uint8_t *address, const uint8_t *prefix, unsigned bits)
{
    unsigned bytes = bits / 8;
    unsigned rest = bits % 8;
    if (memcmp(address, prefix, bytes) != 0)
        return false;
    return rest == 0 || (address[bytes] ^ prefix[bytes]) >> (8 - rest) == 0;
}

static const char *refusal_by(const struct network *networks, size_t count, const uint8_t *address,
                              bool private_addresses)
{
    for (size_t i = 0; i < count; i++)
        if (has_prefix(address, networks[i].prefix, networks[i].bits) &&
            (networks[i].never || !private_addresses))
            return networks[i].class;
    return NULL;
}

static const char *refusal4(const uint8_t *address, bool private_addresses)
{
    return refusal_by(networks4, COUNT_OF(networks4), address, private_addresses);
}

static const char *refusal6(const uint8_t *address, bool private_addresses)
{
    static const uint8_t zero[12] = {0};
    for (const struct embedding *place = embeddings; place < embeddings + COUNT_OF(embeddings);
         place++) {
        uint8_t inner[4];
        if (!has_prefix(address, place->prefix, place->bits))
            continue;
        for (size_t i = 0; i < sizeof(inner); i++)
            inner[i] = address[place->offset + i] ^ (place->inverted ? 0xff : 0);
        return refusal4(inner, private_addresses);
    }
    const char *refusal = refusal_by(networks6, COUNT_OF(networks6), address, private_addresses);
    if (refusal)
        return refusal;
    if (memcmp(address, zero, sizeof(zero)) == 0 && address[15] != 1)
        return "IPv4-compatible";
    return private_addresses || (address[0] & 0xe0) == 0x20 ? NULL : "not global unicast";
}

const char *address_refusal(const struct sockaddr *address, bool private_addresses)
{
    if (address->sa_family == AF_INET)
        return refusal4(
            (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr,
            private_addresses);
    if (address->sa_family == AF_INET6)
        return refusal6(
            (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
            private_addresses);
    return "not of the Internet";
}
