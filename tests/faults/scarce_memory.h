/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is refused once: what the allocator of the test backend (scarce_memory.c) and the
 * test agree on, in a file beside that backend, which all of its processes have mapped. So one
 * backend can be told of one point after the other.
 */
#pragma once

#include <stdatomic.h>

#define SCARCE_MEMORY_FILE ".memory" /* behind the path of the backend */

enum memory_role {
    MEMORY_START,      /* the backend until it has said hello */
    MEMORY_SUPERVISOR, /* from the order on */
    MEMORY_INIT,
    MEMORY_PAYLOAD,   /* until its execve */
    MEMORY_SUBREAPER, /* of mode none, and its program until the execve */
    MEMORY_ROLE_COUNT
};

struct scarce_memory {
    _Atomic int supervisor;   /* 0: it has not said hello */
    _Atomic int unprivileged; /* 1: runs have no namespaces */
    _Atomic int
        init; /* of the run, without namespaces: the first child of the supervisor; 0: none yet */
    _Atomic unsigned int role;
    _Atomic unsigned int index;   /* which allocation of that role fails, from 1; 0: none */
    _Atomic unsigned int lasting; /* 1: and every one after it */
    _Atomic unsigned int failed;  /* that did */
    _Atomic unsigned int asked[MEMORY_ROLE_COUNT];
    _Atomic long blocks; /* that the supervisor has more than when it said hello */
};
