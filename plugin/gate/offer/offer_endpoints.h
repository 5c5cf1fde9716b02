/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's endpoints as a model is offered them: names and descriptions, as far as policy, host
 * and context allow. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "gate/offer/offer.h"

bool offer_endpoints_has_some(const struct offer *offer);

/* Writes their names and descriptions into the member's schema; false when out of memory. */
bool offer_endpoints_describe(const struct offer *offer, json_t *member);
