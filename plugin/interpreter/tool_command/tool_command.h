/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command by which a program of a shell calls tools of the gateway: its words, what it prints
 * and its exit status (docs/tools.md). Runs in a process of its own in a sandbox or a container,
 * behind every layer, as the user that the program runs as: it belongs to the program, and nothing
 * that it does decides anything.
 */
#pragma once

/* The whole of main(). */
int tool_command(int count, char **words);
