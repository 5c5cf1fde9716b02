/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the report of what the kernel says of the guest: see guest_layers.h. Runs in the guest. */
#include "guest/layers/guest_layers.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "guest/layers/landlock.h"
#include "guest/messages/guest_output.h"
#include "guest/messages/guest_protocol.h"

#define CAPABILITIES_MOST 64
#define LOG_READ_ALL      3 /* syslog(2), SYSLOG_ACTION_READ_ALL */
#define LOG_BYTES         4096

/* A kernel that does not know ambient capabilities gives none. */
static bool has_ambient_capability(void)
{
    for (unsigned long i = 0; i < CAPABILITIES_MOST; i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1)
            return true;
    return false;
}

/* gVisor's log begins so, and anybody may read it. Linux' begins with its version, and the
 * container's filter leaves nobody the call. */
static bool is_gvisor(void)
{
    static const char first[] = "Starting gVisor";
    char log[LOG_BYTES];
    int length = klogctl(LOG_READ_ALL, log, sizeof(log));
    const char *end = length > 0 ? memchr(log, '\n', (size_t)length) : NULL;
    return end && memmem(log, (size_t)(end - log), first, sizeof(first) - 1);
}

static char digest_line[sizeof(GUEST_DIGEST "\n") + SHA256_TEXT_LENGTH];

bool facts_take_digest(void)
{
    unsigned char chunk[16384];
    char text[SHA256_TEXT_LENGTH + 1];
    struct sha256 hash;
    ssize_t count = 0;
    CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    sha256_begin(&hash);
    while (fd >= 0 && (count = read(fd, chunk, sizeof(chunk))) > 0)
        sha256_add(&hash, chunk, (size_t)count);
    if (fd < 0 || count < 0)
        return false;
    sha256_end(&hash, text);
    (void)snprintf(digest_line, sizeof(digest_line), GUEST_DIGEST "%s\n", text);
    return true;
}

/* gVisor leaves out these two lines. */
static int write_own(const char *status, char ret[GUEST_OWN_FACTS_LIMIT])
{
    const char *ambient = has_ambient_capability() ? "CapAmb:\t1\n" : "CapAmb:\t0\n";
    const char *privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? "NoNewPrivs:\t1\n" : "";
    return snprintf(ret, GUEST_OWN_FACTS_LIMIT, "%s%s%s" GUEST_KERNEL "%s\nLandlock:\t%d\n",
                    digest_line, strstr(status, "\nCapAmb:") ? "" : ambient,
                    strstr(status, "\nNoNewPrivs:") ? "" : privileges,
                    is_gvisor() ? GUEST_KERNEL_GVISOR : GUEST_KERNEL_LINUX, landlock_abi());
}

bool facts_send(void)
{
    char facts[GUEST_CONTROL_LIMIT];
    char own[GUEST_OWN_FACTS_LIMIT];
    CLEANUP_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, facts, sizeof(facts) - sizeof(own));
    if (length < 0)
        return false;
    facts[length] = '\0';
    int own_length = write_own(facts, own);
    memcpy(facts + length, own, (size_t)own_length);
    output_put(GUEST_FACTS, facts, (size_t)length + (size_t)own_length);
    return true;
}
