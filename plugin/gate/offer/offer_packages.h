/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's environments in the words for a model: the member "packages" of an offered schema.
 * Any thread of the gateway.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "gate/offer/offer.h"

/* Can a caller with that offer have any? */
bool offer_packages_has_some(const struct offer *offer);
/* Adds their names and descriptions to the member. false: no memory. */
bool offer_packages_describe(const struct offer *offer, json_t *member);
