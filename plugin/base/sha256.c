/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: see sha256.h. The names are those of the standard where it has one letter for a thing.
 */
#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

/* PORTABLE_SHA256: a test wants the one that every machine has. */
#if defined(__x86_64__) && !defined(PORTABLE_SHA256)
#define HAS_INSTRUCTIONS 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define HAS_INSTRUCTIONS 0
#endif

/* The fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

#if HAS_INSTRUCTIONS
#define LEAF1_SSSE3 (1U << 9)  /* ecx */
#define LEAF1_SSE41 (1U << 19) /* ecx */
#define LEAF7_SHA   (1U << 29) /* ebx */

enum { NOT_ASKED, HAS_NOT, HAS };

/* Whichever thread asks first: all get the same answer. */
static bool processor_has_sha(void)
{
    static int known = NOT_ASKED;
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == NOT_ASKED) {
        unsigned a, b, c, d, b7 = 0;
        bool has = __get_cpuid(1, &a, &b, &c, &d) && (c & LEAF1_SSSE3) && (c & LEAF1_SSE41) &&
                   __get_cpuid_count(7, 0, &a, &b7, &c, &d) && (b7 & LEAF7_SHA);
        answer = has ? HAS : HAS_NOT;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == HAS;
}

/* By the processor's instructions (Intel's manual, volume 2: SHA256RNDS2, SHA256MSG1, SHA256MSG2),
 * four rounds at once. They want the words of the state in the order f e b a and h g d c. */
__attribute__((target("sha,sse4.1,ssse3"))) static void compress_by_instructions(
    uint32_t state[8], const unsigned char *bytes, size_t count)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i *stored = (__m128i *)(void *)state;
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(&stored[0]), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(&stored[1]), 0x1b);
    __m128i feba = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i hgdc = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; count > 0; count--, bytes += 64) {
        const __m128i *block = (const __m128i *)(const void *)bytes;
        const __m128i feba_before = feba;
        const __m128i hgdc_before = hgdc;
        __m128i words[16];
        for (size_t i = 0; i < 16; i++) {
            if (i < 4)
                words[i] = _mm_shuffle_epi8(_mm_loadu_si128(&block[i]), big_endian);
            else
                words[i] = _mm_sha256msg2_epu32(
                    _mm_add_epi32(_mm_sha256msg1_epu32(words[i - 4], words[i - 3]),
                                  _mm_alignr_epi8(words[i - 1], words[i - 2], 4)),
                    words[i - 1]);
            const __m128i *constants = (const __m128i *)(const void *)&round_constants[4 * i];
            __m128i sums = _mm_add_epi32(words[i], _mm_loadu_si128(constants));
            hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sums);
            feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sums, 0x0e));
        }
        feba = _mm_add_epi32(feba, feba_before);
        hgdc = _mm_add_epi32(hgdc, hgdc_before);
    }
    __m128i abef = _mm_shuffle_epi32(feba, 0x1b);
    __m128i ghcd = _mm_shuffle_epi32(hgdc, 0xb1);
    _mm_storeu_si128(&stored[0], _mm_blend_epi16(abef, ghcd, 0xf0));
    _mm_storeu_si128(&stored[1], _mm_alignr_epi8(ghcd, abef, 8));
}
#endif

static void expand(const unsigned char block[64], uint32_t words[64])
{
    for (size_t i = 0; i < 16; i++, block += 4)
        words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
                   (uint32_t)block[3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t early = words[i - 15];
        uint32_t late = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] +
                   (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
                   (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
    }
}

static void compress(uint32_t state[8], const unsigned char block[64])
{
    uint32_t words[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    expand(block, words);
    for (size_t i = 0; i < 64; i++) {
        uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                         round_constants[i] + words[i];
        uint32_t second =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const uint32_t change[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++)
        state[i] += change[i];
}

static void compress_all(uint32_t state[8], const unsigned char *bytes, size_t count)
{
#if HAS_INSTRUCTIONS
    if (processor_has_sha()) {
        compress_by_instructions(state, bytes, count);
        return;
    }
#endif
    for (; count > 0; count--, bytes += 64)
        compress(state, bytes);
}

void sha256_begin(struct sha256 *hash)
{
    /* The fractional parts of the square roots of the first 8 primes. */
    *hash = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                      0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    size_t held = hash->length % sizeof(hash->block);
    hash->length += length;
    if (held > 0) {
        size_t room = sizeof(hash->block) - held;
        size_t taken = length < room ? length : room;
        memcpy(hash->block + held, next, taken);
        if (taken < room)
            return;
        compress_all(hash->state, hash->block, 1);
        next += taken;
        length -= taken;
    }
    size_t whole = length / sizeof(hash->block);
    compress_all(hash->state, next, whole);
    next += whole * sizeof(hash->block);
    length -= whole * sizeof(hash->block);
    if (length > 0)
        memcpy(hash->block, next, length);
}

void sha256_end(struct sha256 *hash, char ret[SHA256_TEXT_LENGTH + 1])
{
    static const unsigned char padding[64] = {0x80};
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = hash->length * 8;
    unsigned char tail[8];
    for (size_t i = 0; i < sizeof(tail); i++)
        tail[i] = (unsigned char)(bits >> (56 - 8 * i));
    size_t held = hash->length % sizeof(hash->block);
    sha256_add(hash, padding, held < 56 ? 56 - held : 120 - held);
    sha256_add(hash, tail, sizeof(tail));
    for (size_t i = 0; i < SHA256_TEXT_LENGTH; i++)
        ret[i] = digits[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 0xF];
    ret[SHA256_TEXT_LENGTH] = '\0';
}
