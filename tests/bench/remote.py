# SPDX-License-Identifier: Apache-2.0
"""Mode remote: a worker on this machine, over loopback, for the whole of the bench."""
import os
import pathlib
import sys

from gateway import PROVIDER, Absent

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))


def policies_of():
    """Completes policies: those with a pool of mode remote get the mode and the worker."""
    if not pathlib.Path(PROVIDER).with_name("code-execute-worker").exists():
        raise Absent("code-execute-worker is not built: it takes OpenSSL 3")
    os.environ["CODE_EXECUTE_SO"] = str(PROVIDER)
    import remote_worker
    worker = remote_worker.policy(pool=4)
    return lambda policies: [{**worker, **policy} if "remote" in policy["pools"] else policy for policy in policies]
