/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast output is looked through for secrets: twenty of them, in reads as the run loop makes
 * them, for output of different kinds. Prints a JSON object of MiB/s, the best of several rounds,
 * and exits with 1 where a secret was not found.
 *     bench_redaction [MEBIBYTES]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "random.h"
#include "redaction/redaction.h"

#define SECRETS      20
#define CHUNK_BYTES  65536
#define OUTPUT_BYTES (4u << 20) /* of each kind, again and again */
#define ROUNDS       5
#define MEBIBYTE     1048576.0

static char output[OUTPUT_BYTES];
static uint64_t passed;

static void count(void *user, const void *bytes, size_t length)
{
    (void)user;
    (void)bytes;
    passed += length;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void fill_random(uint64_t *state, const char *characters, char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        text[i] = characters[random_below(state, strlen(characters))];
}

static void fill_log(uint64_t *state)
{
    size_t size = 0;
    while (size < OUTPUT_BYTES - 200)
        size += (size_t)sprintf(
            output + size,
            "2026-01-02T03:04:%02u.%06u INFO worker %u: request %u done, status "
            "200, %u bytes in %u ms\n",
            (unsigned)random_below(state, 60), (unsigned)random_below(state, 1000000),
            (unsigned)random_below(state, 16), (unsigned)random_below(state, 100000),
            (unsigned)random_below(state, 100000), (unsigned)random_below(state, 900));
    memset(output + size, '\n', OUTPUT_BYTES - size);
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void look_through(struct redaction_stream *stream)
{
    for (size_t done = 0; done < OUTPUT_BYTES; done += CHUNK_BYTES) {
        void *room = redaction_room(stream, CHUNK_BYTES);
        if (room == NULL)
            exit(1);
        memcpy(room, output + done, CHUNK_BYTES); /* as read() does */
        redaction_take(stream, CHUNK_BYTES, count, NULL);
    }
}

/* A secret is in the middle: what does not find it is no measure. */
static double measure(const struct redaction *redaction, const char *secret, unsigned repeats)
{
    double best = 0;
    memcpy(output + OUTPUT_BYTES / 2, secret, strlen(secret));
    for (int round = 0; round < ROUNDS; round++) {
        struct redaction_stream stream = {.redaction = redaction};
        double begin = now();
        for (unsigned i = 0; i < repeats; i++)
            look_through(&stream);
        redaction_flush(&stream, count, NULL);
        double rate = repeats * (OUTPUT_BYTES / MEBIBYTE) / (now() - begin);
        if (stream.found != repeats)
            exit(1);
        if (rate > best)
            best = rate;
    }
    return best;
}

static void measure_secrets(const char *name, size_t length, unsigned repeats)
{
    static char secrets[SECRETS][65];
    uint64_t state = 7;
    struct error error;
    struct redaction *redaction = redaction_new();
    if (redaction == NULL)
        exit(1);
    for (size_t i = 0; i < SECRETS; i++) {
        char label[8];
        (void)snprintf(label, sizeof(label), "s%zu", i);
        fill_random(&state, digits, secrets[i], length);
        secrets[i][length] = '\0';
        if (!redaction_add(redaction, label, secrets[i], length, &error))
            exit(1);
    }
    fill_log(&state);
    double log = measure(redaction, secrets[3], repeats);
    fill_random(&state, digits, output, OUTPUT_BYTES);
    double base64 = measure(redaction, secrets[4], repeats);
    memset(output, '\0', OUTPUT_BYTES);
    double zeroes = measure(redaction, secrets[5], repeats);
    printf("\"%s\": {\"log\": %.0f, \"base64\": %.0f, \"zeroes\": %.0f}", name, log, base64,
           zeroes);
    redaction_free(redaction);
}

int main(int argc, char **argv)
{
    unsigned mebibytes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 256;
    unsigned repeats = mebibytes / (OUTPUT_BYTES >> 20) + 1;
    printf("{\"secrets\": %d, \"mib_per_second\": {", SECRETS);
    measure_secrets("40", 40, repeats);
    printf(", ");
    measure_secrets("8", 8, repeats);
    printf("}}\n");
    return 0;
}
