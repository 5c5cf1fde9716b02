/* SPDX-License-Identifier: Apache-2.0 */
/* One side of a connection that may be refused, and what it says to that. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/remote/link/link.h"

#define DAY_S 86400L

struct side {
    const char *authority, *certificate; /* names of files */
    const char *peer;                    /* the name that the other side must have */
    uint32_t protocol_version;           /* 0: this one */
    struct error error;                  /* of the end */
    bool ready;
};

struct side gateway_of(const char *certificate);
struct side worker_of(const char *certificate);
struct link *link_of(struct side *side, bool is_server, int fd);
/* false: it is over, and freed. */
bool turn(struct link **link, struct side *side);
/* Both become ready, or both end. */
void meet(struct side *gateway, struct side *worker);
/* Before it was ready. */
void says(const struct side *side, const char *words);
/* Of every program with sides. */
void sides_setup(void);
