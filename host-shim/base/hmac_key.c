/* SPDX-License-Identifier: Apache-2.0 */
/* Reads keys from files. Any thread. */
#include "base/hmac_key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/digest.h"
#include "base/state_file.h"

#define CODE "audit_key_unusable"

static bool take_bytes(struct hmac_key *key, const char *path, struct failure *failure)
{
    static const struct digest_part of_id = {"key id", sizeof("key id") - 1};
    char id[SHA256_HEX + 1];
    if (key->length > 0 && key->bytes[key->length - 1] == '\n')
        key->length--;
    if (key->length < HMAC_KEY_LEAST || key->length > HMAC_KEY_MOST) {
        (void)failure_set(failure, CODE, "key %s: it must have %u to %u bytes", path,
                          HMAC_KEY_LEAST, HMAC_KEY_MOST);
        return failure_set_hint(failure, "make one: (umask 077; openssl rand -hex 32 > FILE)");
    }
    hmac_sha256_hex(key->bytes, key->length, &of_id, 1, id);
    memcpy(key->id, id, HMAC_KEY_ID);
    key->id[HMAC_KEY_ID] = '\0';
    return true;
}

bool hmac_key_read(const char *path, struct hmac_key *ret, struct failure *failure)
{
    /* Non-blocking, so that a FIFO in the file's place cannot hang the call. */
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return failure_set_errno(failure, CODE, errno, "key %s", path);
    if (!trusted_file_check(&status, path, CODE, failure))
        return false;
    CLEANUP(hmac_key_wipe) struct hmac_key key = {0};
    ssize_t length = read_up_to(fd, (char *)key.bytes, sizeof(key.bytes));
    if (length < 0)
        return failure_set_errno(failure, CODE, errno, "key %s", path);
    key.length = (size_t)length;
    if (!take_bytes(&key, path, failure))
        return false;
    *ret = key;
    return true;
}

void hmac_key_wipe(struct hmac_key *key)
{
    explicit_bzero(key, sizeof(*key));
}
