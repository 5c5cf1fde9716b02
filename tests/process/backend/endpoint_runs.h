/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with endpoints as tests want them: their descriptions, programs in Python that attempt one
 * thing, and what those say.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "suite.h"

#define ANSWER_SIZE 64

/* A program that attempts it, and prints "ok" or the name of its error. */
#define PRELUDE                                                         \
    "import errno, os, socket, sys\n"                                   \
    "tcp = lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)\n" \
    "def attempt():\n    "
#define EPILOGUE                 \
    "\ntry:\n    attempt()\n"    \
    "    print('ok')\n"          \
    "except OSError as error:\n" \
    "    print(errno.errorcode[error.errno])\n"
#define ATTEMPT(code) PRELUDE code EPILOGUE

struct run_description describe_endpoints(char **argv);
/* code is borrowed; the description holds until the next one. */
struct run_description describe_python(const char *code);

/* Runs the program in a sandbox with endpoints, or without both, as isolation says. */
void attempt(const char *code, uint32_t isolation, char ret_answer[ANSWER_SIZE]);

/* The machine's Landlock, as the product asks for it. */
bool landlock_knows_ports(void);

/* A service of the machine, on the address that endpoints have; the socket is the caller's. */
int listen_on_machine(int backlog, uint16_t *ret_port);
