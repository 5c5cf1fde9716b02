/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the entries of an archive below content/. Every step opens its directory anew without
 * crossing a link (openat2(2)), so nothing that was made before can lead outside. One thread,
 * confined.
 */
#pragma once

#include "backends/environment/archive_input.h"
#include "base/error.h"
#include "environments/tree_walk.h"

struct content {
    int top; /* borrowed */
    const struct tree_limits *limits;
    struct tree_totals totals; /* so far */
};

/* One entry; reads its bytes from the input. */
bool content_add(struct content *content, struct archive_input *input,
                 const struct archive_item *item, struct error *error);

/* Gives all directories their mode and one time, and refuses links that lead outside or in a
 * circle. On failure place is the path. */
bool content_settle(const struct content *content, char place[TREE_PATH_LIMIT + 1],
                    struct error *error);
