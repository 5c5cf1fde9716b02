/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of the process backend have in common. */
#pragma once

#define PROCESS_PROGRAM "code-execute-process"
#define PROCESS_PROGRAM_REMEDY \
    "reinstall code-execute: its programs must be next to code_execute.so"
#define PROCESS_GRACE_MS 4000
