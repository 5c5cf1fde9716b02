/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON (RFC 8785, for the values we use: no real numbers) and its SHA-256. Approvals,
 * policies and audit records are bound to it. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SHA256_HEX_LENGTH 64

/* A new string, or NULL: out of memory, or a value holds a real number. */
char *canonical_json(const json_t *value);
/* false when canonical_json() fails. */
bool canonical_sha256(const json_t *value, char ret[SHA256_HEX_LENGTH + 1]);
/* ret: two lower-case digits a byte, and a NUL. */
void hex_text(const void *bytes, size_t length, char *ret);
void sha256_hex(const void *bytes, size_t length, char ret[SHA256_HEX_LENGTH + 1]);
