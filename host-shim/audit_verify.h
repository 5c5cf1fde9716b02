/* SPDX-License-Identifier: Apache-2.0 */
/* Walks an audit log from its first line to its last. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit_line.h"
#include "failure.h"

/* True when every record is whole, in its place and unchanged; *ret_last is then the last link
 * (seq 0 for an empty file). anchor (or NULL) is the sha256 of a record that must be among them:
 * only something kept elsewhere can show that the end of a log was cut away. Else the failure names
 * the first bad line. */
bool audit_verify(const char *path, const char *anchor, struct audit_link *ret_last,
                  struct failure *failure);
