/* SPDX-License-Identifier: Apache-2.0 */
/* What every attack in C says: that it was tried, and the proof where it got through. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void say(const char *name)
{
    (void)puts(getenv(name));
    (void)fflush(stdout);
}

/* What main() returns. */
static inline int tell(int reached)
{
    say("TRIED");
    if (reached)
        say("PROOF");
    return 0;
}

static inline const char *in_canary_directory(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", getenv("CANARY_DIR"), name);
    return path;
}

/* Shows what the descriptor has: the token, where it is the canary's. */
static inline int show(int fd)
{
    char text[256];
    ssize_t length = read(fd, text, sizeof(text));
    if (length > 0)
        (void)!write(STDOUT_FILENO, text, (size_t)length);
    return tell(0);
}
