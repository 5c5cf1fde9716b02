/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the addon by which a container's Node takes the cells of a session (interpreter/node/). The
 * image's Node may have any C library, so this one names none: it is linked without, and finds what
 * it uses among the functions that Node itself has loaded. Those are of the names that musl and
 * every glibc have in common. Runs inside the interpreter, in its main thread.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpreter/node/session_cells.h"

/* A glibc older than 2.33 has no function of that name. The kernel's struct is that of both. */
__attribute__((visibility("hidden"))) int fstat(int fd, struct stat *status)
{
    return (int)syscall(SYS_fstat, fd, status);
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env environment,
                                                                          napi_value exports);

napi_value napi_register_module_v1(napi_env environment, napi_value exports)
{
    return session_cells_export(environment, exports) ? exports : NULL;
}
