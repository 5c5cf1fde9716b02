/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the giving up of privileges (capabilities(7)): in pid 1 of a sandbox once its mounts are
 * made, so that the program never had any, and no_new_privs in the payload.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/process/sandbox/sandbox.h"

#define CAPABILITY_NUMBERS 64 /* of the kernel's two 32-bit words; EINVAL ends the known ones */

static int empty_bounding_set(void)
{
    for (unsigned long capability = 0; capability < CAPABILITY_NUMBERS; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return errno == EINVAL && capability > CAP_BLOCK_SUSPEND ? 0 : -1;
    return 0;
}

static int lock_secure_bits(void)
{
    unsigned long bits = SECURE_ALL_BITS | SECURE_ALL_LOCKS;
    /* Keeping capabilities over a change of uid must not be locked on. */
    bits &= ~(unsigned long)SECBIT_KEEP_CAPS;
    return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
}

int clear_capability_sets(struct sandbox *sandbox)
{
    (void)sandbox;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capset, &header, data) < 0 || syscall(SYS_capget, &header, data) < 0)
        return -1;
    for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        if (data[i].effective || data[i].permitted || data[i].inheritable) {
            errno = EPERM;
            return -1;
        }
    }
    return 0;
}

int drop_capabilities(struct sandbox *sandbox)
{
    if (empty_bounding_set() < 0 || lock_secure_bits() < 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -1;
    return clear_capability_sets(sandbox);
}

int forbid_new_privileges(struct sandbox *sandbox)
{
    (void)sandbox;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
