/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's bytes in the broker of endpoints: the target of a request, and the first bytes of a
 * tunnel. A path that is taken is its own normal form, and has nothing that two readers understand
 * differently. A ClientHello is judged alike however it arrives, and a good one has the name in it.
 */
#include <strings.h>

#include "backends/egress/rules/target.h"
#include "backends/egress/tunnel/client_hello.h"
#include "base/cleanup.h"
#include "fuzz.h"

#define HOST "host.example"

static void must_be_normal(const char *path)
{
    MUST(path[0] == '/');
    MUST(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
    MUST(!strpbrk(path, ";\\?# \"<>^`{|}"));
    MUST(!strstr(path, "%2F") && !strstr(path, "%5C") && !strstr(path, "%00") &&
         !strstr(path, "%3B"));
    MUST(!strstr(path, "%2f") && !strstr(path, "%2E") && !strstr(path, "%252F"));
    for (const char *byte = path; *byte; byte++)
        MUST(*byte > 0x20 && *byte < 0x7f);
}

static void try_target(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *raw = calloc(1, size + 1);
    CLEANUP_FREE char *again = NULL;
    CLEANUP(target_clear) struct target target = {0};
    CLEANUP(target_clear) struct target second = {0};
    MUST(raw != NULL);
    if (size)
        memcpy(raw, data, size);
    MUST(target_parse(raw, &target));
    if (target.fault)
        return;
    must_be_normal(target.path);
    MUST(asprintf(&again, "/%s%s", target.name, target.path) >= 0);
    MUST(target_parse(again, &second) && !second.fault);
    MUST(strcmp(target.name, second.name) == 0 && strcmp(target.path, second.path) == 0);
}

static bool has_name(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (size - i >= 1 && (data[i] | 0x20) == HOST[0])
            return true;
    return false;
}

static void try_hello(const uint8_t *data, size_t size)
{
    CLEANUP_FREE unsigned char *exact = fuzz_exact(data, size);
    enum hello_outcome whole = client_hello_judge(exact, size, HOST);
    MUST(whole != HELLO_GOOD || has_name(data, size));
    MUST(whole <= HELLO_GOOD || client_hello_refusal(whole) != NULL);
    /* With less of it, it is not known yet, or known as with all. */
    size_t step = size > 512 ? size / 512 + 1 : 1;
    for (size_t cut = 0; cut < size; cut += step) {
        CLEANUP_FREE unsigned char *part = fuzz_exact(data, cut);
        enum hello_outcome outcome = client_hello_judge(part, cut, HOST);
        MUST(outcome == HELLO_INCOMPLETE || outcome == whole || size > CLIENT_HELLO_LIMIT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_target(data, size);
    try_hello(data, size);
    return 0;
}
