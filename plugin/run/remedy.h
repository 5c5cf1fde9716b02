/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator can do when a layer cannot be had: one text a layer, chosen by the error and by
 * what this host's own settings say. The settings are read to explain a failure, never to predict
 * one. Any thread.
 */
#pragma once

#include <stddef.h>

#include "protocol/layers.h"

/* Writes the text to hint (size bytes, always terminated). */
void remedy_for_layer(enum isolation_layer layer, int error_number, char *hint, size_t size);

/* What can be done where a workspace cannot be shown; constant. */
const char *remedy_for_workspace(int error_number);

/* The same for a layer that an engine's containers lack; constant. */
const char *remedy_for_container_layer(enum isolation_layer layer);
