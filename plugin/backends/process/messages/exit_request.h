/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the copy of an interpreter asks its init to end the run in place of exit_group(2): the kernel
 * takes a millisecond over the memory of a copy before it tells the parent, and nobody need wait
 * for that. The filter's listener tells the init of the call (the group "exit request" of
 * policies/seccomp/calls.json), which kills the caller and all others and reports the status that
 * was asked for. What a program gains by asking itself is its end. The kernel has had nothing
 * behind the call since Linux 3.1 (nfsservctl(2)).
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#define EXIT_REQUEST_CALL SYS_nfsservctl /* (EXIT_REQUEST_WORD, status as of exit(3)) */
#define EXIT_REQUEST_WORD UINT64_C(0x65786974)
