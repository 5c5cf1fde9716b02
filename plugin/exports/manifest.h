/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest that tool_manifest() returns: generated once from the tables of request.h,
 * language.h, error.h, layers.h and run_event.h, and then constant until manifest_release(). Any
 * thread.
 */
#pragma once

/* Static text; "{}" only when out of memory. Thread-safe; the first call builds it. */
const char *manifest_text(void);
/* In a child of fork(): the text stays. Takes no lock. */
void manifest_after_fork(void);
/* Frees it; for dlclose() only, when no call is under way. */
void manifest_release(void);
