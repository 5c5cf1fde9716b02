/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether kill(2) with -1, "all processes", reaches the tree of an init and nothing else. The first
 * process of a pid namespace has that from the kernel. Another has it in a Landlock domain with the
 * signal scope: the kernel then lets it signal its own domain and those within. The call stops
 * forks meanwhile, so no process of the tree is missed. Runs in inits, single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The caller is in such a domain of its own, and has tried that nothing outside is reached. */
void whole_tree_note_domain(void);
bool whole_tree_is_alone(void);
/* A process of ours in that domain, which is to stay awake when the tree is stopped. */
void whole_tree_note_guardian(pid_t guardian);
pid_t whole_tree_guardian(void); /* 0: there is none */
/* To every process of the tree; where that is not known, to none. */
void whole_tree_signal(int signal);
/* Kills all of it. A call that fails is made again: what is left would be waited for. */
void whole_tree_kill(void);
