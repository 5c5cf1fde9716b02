/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the taking away of what the guest puts on its programs from inside, for the escape suite
 * alone. Linked with the product's sources and -Wl,--wrap (meson.build), it is mounted over the
 * guest wherever a layer of the engine's is taken away (knockouts.py): else the guest's own would
 * hold what that layer holds. A C library has setrlimit() by one of two names.
 */
#include <stdbool.h>
#include <sys/resource.h>

bool __wrap_layers_apply(void);
int __wrap_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit64(int resource, const struct rlimit *limit);

bool __wrap_layers_apply(void)
{
    return true;
}

int __wrap_setrlimit(int resource, const struct rlimit *limit)
{
    (void)resource;
    (void)limit;
    return 0;
}

int __wrap_setrlimit64(int resource, const struct rlimit *limit)
{
    return __wrap_setrlimit(resource, limit);
}
