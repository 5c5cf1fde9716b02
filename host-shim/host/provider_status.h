/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a provider and of this machine, under the configuration of the command line. Main
 * thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"
#include "host/host_callbacks.h"
#include "host/provider.h"
#include "options/options.h"

/* *ret_status: the provider's status, new; where it refused the configuration, its refusal. */
bool provider_status_ask(const struct options *options, json_t **ret_status,
                         struct failure *failure);

/* Puts "environments" into the provider's manifest: which packages the machine's own interpreters
 * have under this configuration. Of a provider that does not know the question the manifest stays
 * as it is. */
bool provider_status_environments(const struct options *options, json_t *manifest,
                                  struct failure *failure);

/* Puts the input schemas that these grants and this context leave into a status; of a provider that
 * does not know the question the status stays as it is. */
bool provider_status_offer(const struct provider *provider, const struct grants *grants,
                           const json_t *context, json_t *status, struct failure *failure);

/* Puts the provider's counters of this moment, and what it has ready, into a status, without
 * a new trial. A counter that it does not report is removed, as an old figure would pass for a new
 * one. false when out of memory. Only of a provider that has been configured. Any thread. */
bool provider_status_refresh(const struct provider *provider, json_t *status);
