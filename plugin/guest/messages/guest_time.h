/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor time of all that is in the container, as the first process there can tell it. Runs
 * in the guest.
 */
#pragma once

/* The backend has asked. */
void time_ask(void);
/* Reads it and adds its frame to the output, where it was asked for and there is room. Else later.
 */
void time_answer(void);
