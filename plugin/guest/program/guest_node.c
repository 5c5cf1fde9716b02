/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what a container's Node is given: see guest_node.h. Runs in the guest. */
#include "guest/program/guest_node.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/write_fully.h"
#include "guest/program/guest_node_addon_text.h"
#include "guest/program/guest_node_text.h"
#include "guest/program/guest_program.h"
#include "guest/program/guest_script.h"

/* By its ending it is no ES module, whatever the image has in a package.json. */
#define SCRIPT   SCRIPT_PLACE "/node.cjs"
#define VARIABLE "NODE_OPTIONS="
#define OPTION   "--require=/proc/self/fd/%d"

int node_write_script(void)
{
    return script_write(SCRIPT, guest_node_text, guest_node_length);
}

int node_open_addon(void)
{
    CLEANUP_CLOSE int fd = memfd_create("session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || !write_fully(fd, guest_node_addon_text, guest_node_addon_length) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        return -1;
    return TAKE_FD(fd);
}

char **node_environment(char *const *given)
{
    char *options;
    const char *rest = script_variable_value(given, VARIABLE);
    if (asprintf(&options, VARIABLE OPTION "%s%s", PROGRAM_SCRIPT_FD, rest ? " " : "",
                 rest ? rest : "") < 0)
        return NULL;
    const char *const added[] = {options};
    return script_environment(given, VARIABLE, added, COUNT_OF(added));
}
