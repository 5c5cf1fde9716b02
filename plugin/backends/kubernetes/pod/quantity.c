/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of quantities: see pod_config.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/pod/pod_config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

void quantity_write(uint64_t value, char ret[QUANTITY_SIZE])
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (value > 0 && value % 1000 == 0 && i + 1 < sizeof(suffixes) / sizeof(*suffixes)) {
        value /= 1000;
        i++;
    }
    (void)snprintf(ret, QUANTITY_SIZE, "%" PRIu64 "%s", value, suffixes[i]);
}
