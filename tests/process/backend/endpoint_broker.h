/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for the broker of one run's endpoints: a process that takes the run's listener and does
 * with it what a test wants. The harness gives every run of the test its socket until it is ended.
 */
#pragma once

#include <sys/types.h>

struct broker {
    int intake; /* the run's end, and here also the broker's where the test is the broker */
    int own;
    pid_t pid; /* 0: the test itself */
};

/* Answers every connection with the tag and the path of its request; "": takes none, and keeps the
 * listener. */
struct broker broker_start(const char *tag);
/* The test takes the listener itself. */
struct broker broker_of_test(void);
/* The listener, which is the caller's; -1: the run has closed its end without one. */
int broker_take_listener(const struct broker *broker);
void broker_stop(struct broker *broker);
