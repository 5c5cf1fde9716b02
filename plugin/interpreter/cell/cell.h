/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of a session, as its interpreter takes them: from the gateway in process mode
 * (backends/process/sandbox/cell.c), from the guest in a container (guest/session/guest_cell.c).
 * Runs in the process that is the session's program, which belongs to a stranger as soon as one
 * cell has run: nothing here decides anything. Single-threaded but for the program's own threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The kind of the frame that ends a cell, on RUN_RESULTS_FD (results.h; session.py knows it too):
 * {"exit_code": 0-255, "defined": [names], "home_is_empty": boolean}. */
#define CELL_FRAME_ENDED 4

/* NULL-terminated lists; all of it lasts until the next cell. */
struct cell {
    const unsigned char *code;
    size_t code_length;
    char **arguments;   /* behind those that start the interpreter */
    char **environment; /* the request's own variables, "NAME=value" */
    size_t lasting;     /* the last so many of them stay when the cell ends */
    bool has_tools;     /* RUN_TOOLS_FD is its own too */
    char failure[300];  /* "": its files are in place; else what is wrong with them */
};

/* Is descriptor 0 the socket of cells? Moves it away, to the descriptor that it returns, puts
 * /dev/null there, and notes the places; -1: this run is no session. */
int cell_socket_take(void);

enum cell_state {
    CELL_NONE,  /* there will be no more */
    CELL_TAKEN, /* *ret is filled; descriptors 0-2 and RUN_RESULTS_FD are its own */
};
/* Waits for the next one, however long that takes. */
enum cell_state cell_take(int socket, struct cell *ret);

/* Owns the place of RUN_TOOLS_FD, where cells have their answers to calls of tools. */

/* Moves what came with a cell away from there: a program with many files leaves no lower number.
 * false: it cannot. */
bool cell_answers_make_room(int *fds, size_t count);
/* Puts a cell's there. false: it cannot. */
bool cell_answers_put(int answers);
/* Closes the last cell's, unless the program has another file there. */
void cell_answers_close(void);

/* Notes where the program is as it begins: its home, and the directory for temporary files. Without
 * mounts both are in a directory of the run's own. */
void cell_places_note(void);
/* The paths, as long as the process; before that those of a sandbox with mounts. */
const char *cell_home(void);
const char *cell_temporary(void);
bool cell_has_mounts(void); /* a file view of its own, with what is in every such view */

/* Is there nothing in the working directory, so that the cell has left no file? false also where
 * that cannot be seen. */
bool cell_home_is_empty(void);
