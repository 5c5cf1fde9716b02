/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of ours in a container's Python: guest_python.py with the parts of the runner
 * (interpreter/python/). It is where Python looks at the end of its own start (sitecustomize). Runs
 * in the guest.
 */
#pragma once

#include <stdbool.h>

/* What guest_python.py is to do. */
#define PYTHON_WAITS  "CODE_EXECUTE_INTERPRETER=wait"  /* for its run */
#define PYTHON_BEGINS "CODE_EXECUTE_INTERPRETER=begin" /* its program */

/* false: there is no room for it, and nothing of it is left. */
bool python_write_script(void);
/* The given variables, the image's, the home of every program, what is to be done, and where the
 * script is. New list; its strings are borrowed, or live as long as the guest. NULL with errno. */
char **python_environment(char *const *given, const char *what);
