/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Unix socket to connect to: mode 0600, and only clients of the same user, or root, are let in.
 * Main thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/un.h>

#include "base/failure.h"

struct listener {
    int fd; /* -1: none */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* A socket left by a dead process is replaced; one that answers is not. */
bool listener_open(const char *path, struct listener *ret, struct failure *failure);
/* The next client, or -1. */
int listener_accept(const struct listener *listener);
/* Closes and removes it. One that was not opened (fd -1) is fine. */
void listener_close(struct listener *listener);
