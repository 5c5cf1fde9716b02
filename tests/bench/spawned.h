/* SPDX-License-Identifier: Apache-2.0 */
/* A contestant that is a command: started, read to its end, waited for. */
#pragma once

#include "attempt.h"

/* argv[0] is a path. The environment has PATH and HOME alone; standard input and errors are
 * /dev/null. The time taken is from before its pipe is made until it has been waited for. Any
 * thread. */
void spawned_run(char *const argv[], struct attempt *ret);
