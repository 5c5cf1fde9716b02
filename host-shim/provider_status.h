/* SPDX-License-Identifier: Apache-2.0 */
/* What a provider says of itself and of this machine, configured as the command line wants it. Main
 * thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "failure.h"
#include "options.h"
#include "provider.h"

/* *ret_status: the provider's status, new; where it refused the configuration, its refusal. */
bool provider_status_ask(const struct options *options, json_t **ret_status,
                         struct failure *failure);

/* The provider's counters, new, without anything being tried; NULL where it does not tell them so.
 * Only of a provider that has been configured. Any thread. */
json_t *provider_status_counters(const struct provider *provider);
