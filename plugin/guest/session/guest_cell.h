/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell on its way from the guest to a session's program: one datagram of one byte, the word on
 * its checkpoint, with these descriptors. The program's side of it is interpreter/cell/cell.h, and
 * session_loop.py in Python.
 */
#pragma once

/* Of that byte: and the number of enum checkpoint_word. */
#define GUEST_CELL_WORDS 'A'

enum guest_cell_fd {
    GUEST_CELL_CODE,
    GUEST_CELL_HEAD, /* arguments behind argv[0], variables, how many of them last, and why it must
                        not be executed ("": nothing is wrong): rows of wire.h */
    GUEST_CELL_STDIN,
    GUEST_CELL_STDOUT,
    GUEST_CELL_STDERR,
    GUEST_CELL_RESULTS,
    GUEST_CELL_ANSWERS, /* to its calls of tools: only of a cell that has some */
    GUEST_CELL_FDS
};
