/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with what a backend has done at a fault, as comments of a test's output.
 * Single-threaded. */
#pragma once

#include <stdbool.h>

#include "injector.h"

const char *fault_name(const struct fault *fault);
/* Of which fault the complaints are that follow, and of which system call it was; call: -1, none.
 */
void complaints_are_of(const struct fault *fault, long call);
void complain(const char *what, const char *more);
/* Since it was asked the last time. */
unsigned int complaints_take(void);
/* For a backend that is known to be wrong: they are counted only. */
void complaints_silence(bool silent);
