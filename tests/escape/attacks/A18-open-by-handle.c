/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack: A18
 * title: open a file by its handle, past every path
 * backends: docker, process
 * expect: completed exit
 * layers: seccomp, no capabilities
 * evidence: proof
 * control docker: seccomp capabilities user
 * control process: none
 * may-lack: handles of the files of its root, which an overlay does not give
 */
#include "attack.h"

int main(void)
{
    struct file_handle *handle = calloc(1, sizeof(*handle) + 128);
    int id;
    handle->handle_bytes = 128;
    if (name_to_handle_at(AT_FDCWD, "/etc/hostname", handle, &id, 0) != 0)
        return tell(0);
    return tell(open_by_handle_at(open("/etc/hostname", O_RDONLY), handle, O_RDONLY) >= 0);
}
