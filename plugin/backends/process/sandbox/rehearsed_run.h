/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of our own making, by which processes of a copied interpreter go the way of a run ahead of
 * it: their first writes copy the pages that they share with their original. Runs in a child of the
 * original (python/rehearsal.c) and in the init of a copy.
 */
#pragma once

#include <stddef.h>

/* A memfd with its description, as the gateway sends one: a program in Python. -1: none could be
 * made. */
int rehearsed_run(const unsigned char *code, size_t length);
