/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of every result: the server's name and version, and from 2026-07-28 on that the result
 * is complete and how long it may be cached. Pure code over what is constant, any thread.
 */
#pragma once

#include <jansson.h>

#include "mcp/result/catalogue.h"
#include "mcp/wire/session_revision.h"

json_t *envelope_server_info(const struct catalogue *catalogue);
/* Adds the server's identity to the result's _meta; takes the result over and returns it. */
json_t *envelope_identify(const struct catalogue *catalogue, json_t *result);
/* A response with the result (taken over), complete. */
json_t *envelope_complete(const struct catalogue *catalogue, const json_t *id,
                          const struct session_revision *session, json_t *result);
/* The same for what a client may keep for so long; 0: it may be another the next time. */
json_t *envelope_cacheable(const struct catalogue *catalogue, const json_t *id,
                           const struct session_revision *session, int kept_ms, json_t *result);
