/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway asks of code-execute-environment over its control socket, once: a datagram with
 * this order and its descriptors. It answers with one datagram, a JSON object of at most
 * PACKAGE_REPLY_LIMIT bytes: {"sha256", "stamp", "bytes", "files"}, or {"error"} with "path"
 * of an archive's entry or "changed" of a file.
 */
#pragma once

#include <stdint.h>

#define PACKAGE_REPLY_LIMIT 8192

enum package_action {
    PACKAGE_INSTALL, /* the archive into the directory, which is empty */
    PACKAGE_VERIFY,  /* the directory against its inventory */
    PACKAGE_ACTION_COUNT
};

enum package_fd {
    PACKAGE_FD_DIRECTORY,
    PACKAGE_FD_ARCHIVE, /* a regular file; /dev/null where there is none */
    PACKAGE_FD_COUNT
};

struct package_order {
    uint32_t action; /* enum package_action */
    uint32_t unused;
    uint64_t bytes;  /* the most that the content may have ... */
    uint64_t inodes; /* ... and of files, directories and links */
};
