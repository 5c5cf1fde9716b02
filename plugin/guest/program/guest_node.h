/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of ours in a container's Node: guest_node.js with the parts of the runner
 * (interpreter/node/). NODE_OPTIONS makes Node load it at the end of its own start. A thread of the
 * program loads it under the same name once more, when it has gone long since. So the name is that
 * of a descriptor, which is /dev/null by then. Runs in the guest.
 */
#pragma once

/* The script's descriptor, to be PROGRAM_SCRIPT_FD in Node; -1: there is no room for it, and
 * nothing of it is left. */
int node_write_script(void);
/* The extension by which it takes the cells of a session, to be PROGRAM_ADDON_FD in Node. -1 with
 * errno. */
int node_open_addon(void);
/* The given variables, the image's, and what loads the script. New list; its strings are borrowed,
 * or live as long as the guest. NULL with errno. */
char **node_environment(char *const *given);
