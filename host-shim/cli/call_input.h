/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a tool's input that the command line of run and session makes alike. Main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "options/options.h"

/* A text of JSON: UTF-8 without exception. */
bool call_input_add_text(json_t *input, const char *member, const char *text, size_t length,
                         struct failure *failure);

/* Variables, secrets, time limit, network, endpoints, and what --set says. It loads a provider of
 * its own to read the manifest, so it is no function to call while another one is open. */
bool call_input_add_settings(const struct options *options, json_t *input, struct failure *failure);
