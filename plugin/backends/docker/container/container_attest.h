/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the container that the engine made the one that was asked for? Compares the engine's own
 * description of it with the request, and refuses whatever is in it that nobody asked for. Pure
 * code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* asked: the body of container_config(); made: the answer of GET /containers/ID/json before the
 * start. false with the name of the first member that differs in *field. */
bool container_attest(const json_t *asked, const json_t *made, char *field, size_t size);
