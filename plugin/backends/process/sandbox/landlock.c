/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the step that puts the Landlock ruleset on (guest/landlock.h). Runs in the payload, after
 * no_new_privs. */
#include "guest/landlock.h"
#include "backends/process/sandbox/sandbox.h"

int restrict_by_landlock(struct sandbox *sandbox)
{
    int abi = landlock_restrict(sandbox->template->network);
    if (abi < 0)
        return -1;
    sandbox->isolation.landlock_abi = (uint32_t)abi;
    return 0;
}
