/* SPDX-License-Identifier: Apache-2.0 */
/* Owns what an init knows of the reach of its signals: see whole_tree.h. */
#include "backends/process/program/whole_tree.h"

#include <unistd.h>

static bool has_domain;

void whole_tree_note_domain(void)
{
    has_domain = true;
}

bool whole_tree_is_alone(void)
{
    return has_domain || getpid() == 1;
}
