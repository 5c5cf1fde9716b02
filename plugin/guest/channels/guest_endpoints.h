/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's connections to its endpoints: a listener on the container's loopback interface,
 * which is all that there is of a network, and a relay of what comes there to the backend. Nothing
 * of it is looked at. A run without endpoints has neither. Runs in the guest, which never waits for
 * the program here.
 */
#pragma once

#include <stdbool.h>

/* Makes the listener, ahead of the program. false with errno. */
bool endpoints_open(void);
/* The listener and all connections. */
void endpoints_close(void);

/* For poll(): where connections arrive, as long as there is a place for one; and where something
 * is to be served. -1: nowhere. */
int endpoints_listener(void);
int endpoints_events(void);
/* Takes the connections that have arrived, and does what can be done for all of them. */
void endpoints_serve(void);
/* Passes on what they have to say, as far as the output has room. */
void endpoints_flush(void);

/* Takes what is behind a GUEST_ORDER_ENDPOINTS. Exits where it is not what the backend sends. */
void endpoints_take_order(void);
/* More of that order is still to come ahead of the next one; takes what is there of it. */
bool endpoints_are_coming(void);
void endpoints_take_more(void);
