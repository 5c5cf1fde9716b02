/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend of tests/escape/knock_out.c, which lacks what it is told to, as a control of those
 * who judge its programs. Aborts where it cannot be had. Single-threaded.
 */
#pragma once

struct knocked_out {
    const char *before; /* the value of CODE_EXECUTE_PROCESS */
};

/* A copy of the program at KNOCK_OUT becomes the one at CODE_EXECUTE_PROCESS. */
struct knocked_out knocked_out_make(void);
/* Lines for knock_out.c: of each backend that is started from now on. */
void knocked_out_lacks(const char *lines);
/* What a judge has to notice, in the blueprint of all runs; NULL-terminated. */
const char *const *knocked_out_lacking(void);
void knocked_out_remove(struct knocked_out *knocked_out);
