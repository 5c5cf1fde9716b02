/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command by which a shell's program calls tools of the gateway: a link to this program, in a
 * directory ahead of the PATH of a run that has tools. By the name of the link this program is the
 * command (interpreter/tool_command/tool_command.h). Both belong to the program, which may remove
 * them. Runs in the guest, and by that name as a process of the program.
 */
#pragma once

#include <stdbool.h>

#include "guest/messages/guest_protocol.h"

/* name: by which this program was started. */
bool guest_is_tool_command(const char *name);
/* Makes the link. The environment of the program that finds it, as program_environment() makes it:
 * new list, borrowed strings; NULL with errno. */
char **tool_command_environment(char *const *given);

/* Puts the image's directory of commands that would install packages ahead of the run's PATH and
 * PYTHONPATH, where the run is to have it. A Python without a script of ours has no PYTHONPATH:
 * that would show in its own search path. false: no memory. */
bool installers_add(struct guest_run *run);
