/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's tools as far as a request may name them, and a few words on each for a model: in
 * the description of the schema's member "tools". Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "gate/offer/offer.h"

/* One that a program may be given, at least; offer->tools is there. */
bool offer_tools_has_some(const struct offer *offer);
/* Names them in the member's description, a line each, as far as they fit. false without memory. */
bool offer_tools_describe(const struct offer *offer, json_t *member);
