/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random requests as a model might write them, valid JSON with the worst texts in it, for the
 * docker property test. A canary is in every text that belongs to the program. Single-threaded test
 * process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CANARY        "cNaRy-" /* what every canary begins with; its digits follow */
#define OFFERED_IMAGE "registry.example:5000/some/thing:1.2"
#define REQUEST_SIZE  8192

struct random_request {
    char text[REQUEST_SIZE]; /* JSON */
    size_t length;
    size_t canaries;     /* all of them in what becomes the run's description, but stdin's */
    bool stdin_canary;   /* one more */
    uint64_t timeout_ms; /* 0: absent */
    bool network;
    bool foreign_image; /* names one that no policy offers */
};

void random_request_make(uint64_t *state, struct random_request *ret);
