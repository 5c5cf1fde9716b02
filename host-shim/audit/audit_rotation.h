/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning a new file of an audit log. The old one gets a name of its own and is not written to
 * again; at the log's path there is at each moment either the old or the new one. On the thread
 * that has the lock.
 */
#pragma once

#include "audit/audit_file.h"

/* *file is the old one before and the new one, locked and with its first line, afterwards; *last
 * goes with it. *ret_name: the old file's name in its directory, new. */
bool audit_rotation_do(struct audit_file *file, struct audit_link *last,
                       const struct audit_key *key, char **ret_name, struct failure *failure);
