/* SPDX-License-Identifier: Apache-2.0 */
/* Contestants that alternate. */
#pragma once

#include <jansson.h>

/*
 * order (borrowed): "contestants" (each with "name" and either "request", an object for the
 * provider, or "argv", strings), "rounds", "budget_ms" (no round begins after it), "pause_ms"
 * (before each turn of anybody), "callers" (threads, started together), "each" (runs of a caller in
 * one turn), "warm_up" (turns that are not counted), "attempts" (of a run, at most; the failed ones
 * are counted), "expect" (the output, where it is compared) and "expect_bytes" (its length, where
 * not).
 *
 * Returns a new object: "runs_ms" (the times by name), "turns_ms" (the time from the start of all
 * callers to the end of the last, by name), "failures" (by name) and "reason" (of the last failure,
 * or null). NULL: no memory. Main thread.
 */
json_t *contest_hold(const json_t *order);
