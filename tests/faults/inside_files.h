/* SPDX-License-Identifier: Apache-2.0 */
/* The files that inside.c leaves in its working directory. */
#pragma once

#define INSIDE_FILES      2
#define INSIDE_LARGE_NAME "large"
#define INSIDE_SMALL_NAME "small"
#define INSIDE_LARGE      100000 /* bytes: more than a frame holds, and than a pipe */
#define INSIDE_SMALL      10
#define INSIDE_BYTE       'x'
