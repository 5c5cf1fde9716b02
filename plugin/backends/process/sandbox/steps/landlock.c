/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the step that puts the Landlock ruleset on (guest/layers/landlock.h). Runs in the payload,
 * after no_new_privs. */
#include "guest/layers/landlock.h"
#include "backends/process/sandbox/sandbox.h"

static enum landlock_network network_of(const struct sandbox_template *template)
{
    if (template->endpoints)
        return LANDLOCK_NETWORK_ENDPOINTS;
    return template->network ? LANDLOCK_NETWORK_ALL : LANDLOCK_NETWORK_NONE;
}

int restrict_by_landlock(struct sandbox *sandbox)
{
    int abi = landlock_restrict(network_of(sandbox->template));
    if (abi < 0)
        return -1;
    sandbox->isolation.landlock_abi = (uint32_t)abi;
    return 0;
}
