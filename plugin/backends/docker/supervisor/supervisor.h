/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of the program: takes runs from the control socket, waits for everything at once, ends
 * when the host does. Single-threaded.
 */
#pragma once

/* Serves runs until the control socket or the host ends, then removes the containers of all of
 * them. Both descriptors are the caller's. 0, or -1 where it could not start. */
int supervisor_serve(int control, int host_pidfd);
