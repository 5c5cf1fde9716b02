/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a request to the engine got no answer, in one fault for each reason that an operator would
 * act on differently. Runs in the docker backend.
 */
#pragma once

#include <curl/curl.h>

#include "backends/docker/engine/engine_address.h"

/* words: what libcurl left in CURLOPT_ERRORBUFFER. */
void engine_failure_explain(CURL *easy, CURLcode result, const struct engine_address *address,
                            const char *words, struct engine_fault *fault);
