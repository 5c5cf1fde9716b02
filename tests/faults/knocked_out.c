/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the copy of the backend that lacks layers: see knocked_out.h. */
#include "knocked_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copied_program.h"
#include "inspector.h"
#include "protocol/run_description.h"

static char program[] = "/var/tmp/code-execute-faults-XXXXXX/code-execute-process";
static char list[sizeof(program)]; /* beside it, as it wants that */

struct knocked_out knocked_out_make(void)
{
    const struct knocked_out made = {.before = getenv("CODE_EXECUTE_PROCESS")};
    copy_program(getenv("KNOCK_OUT"), program);
    (void)strcpy(list, program);
    (void)strcpy(strrchr(list, '/'), "/knock-out");
    if (setenv("CODE_EXECUTE_PROCESS", program, 1) < 0)
        abort();
    return made;
}

void knocked_out_lacks(const char *lines)
{
    FILE *file = fopen(list, "we");
    if (!file || fprintf(file, "%s\n", lines) < 0 || fclose(file) != 0)
        abort();
}

const char *const *knocked_out_lacking(void)
{
    static const char *const in_namespaces[] = {"step make_view_read_only",
                                                "step drop_capabilities",
                                                "step limit_resources",
                                                "step restrict_system_calls",
                                                "step set_host_name",
                                                "namespace network\nstep check_network_namespace",
                                                "leak /usr\nstep close_other_descriptors",
                                                NULL};
    static const char *const without[] = {"step clear_capabilities",
                                          "step enter_outer_domain",
                                          "step start_guardian",
                                          "step enter_home",
                                          "step enter_inner_domain",
                                          "step restrict_system_calls",
                                          "step limit_resources",
                                          "seccomp no sockets",
                                          "seccomp memory files",
                                          "seccomp attributes of files",
                                          "leak /usr\nstep close_other_descriptors",
                                          NULL};
    return inspector_isolation() == RUN_ISOLATION_UNPRIVILEGED ? without : in_namespaces;
}

void knocked_out_remove(struct knocked_out *knocked_out)
{
    (void)unlink(list);
    remove_copied_program(program);
    if (setenv("CODE_EXECUTE_PROCESS", knocked_out->before, 1) < 0)
        abort();
}
