/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor time of all that is in the container, as the first process there can tell it. Runs
 * in the guest.
 */
#pragma once

/* Reads it, and adds its frame to the output, which must have room. */
void time_send_measure(void);
