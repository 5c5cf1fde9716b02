# SPDX-License-Identifier: Apache-2.0
"""One provider whose sessions have checkpoints, and one caller of cells of Python."""
import tap
from modes import Provider, adopt_orphans, merged
from provider import OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files")
AMPLE_MS = 120000  # for cells that are not about time
# A thread that was joined may be in the kernel still, where a checkpoint would see it.
UNTIL_ONE_THREAD = "import os\nwhile len(os.listdir('/proc/self/task')) > 1: pass"
adopt_orphans()
provider = Provider()


def use(checkpoints=3, **more):
    provider.reset()
    sessions = {"max_total": 8, "max_per_principal": 8, "checkpoints": checkpoints}
    tap.equal(provider.use_policy(merged({"sessions": sessions, "limits": {"wall_ms": {"default": AMPLE_MS}, "cpu_ms": {"default": 300000}}}, more)), OK)


def call(code, session="new", **more):
    """The return code and the result."""
    return provider.invoke({"language": "python", "code": code, "session": session, **more}, Host(RIGHTS, context={"principal": "ann"}))
