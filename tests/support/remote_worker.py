# SPDX-License-Identifier: Apache-2.0
"""One worker for the whole of a suite in mode remote, and the policy's section with it. It ends with the suite."""
import atexit
import os
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "remote"))
import workers  # noqa: E402


def policy(pool):
    """The policy of a gateway with that worker, which keeps as many sandboxes ready."""
    workers.need_program()
    directory = tempfile.TemporaryDirectory(prefix="code-execute-remote-")
    os.chmod(directory.name, 0o755)
    files = workers.Authorities(directory.name)
    worker = workers.Worker(directory.name, files.worker, max_runs=64, memory_total_bytes=1 << 40,
                            pool={"ready": pool, "most": pool}).await_ready()

    def end():
        worker.__exit__()
        directory.cleanup()
    atexit.register(end)
    tls = {name: str(files.gateway / file) for name, file in (("authority", "ca.pem"), ("certificate", "cert.pem"), ("key", "key.pem"))}
    place = {"name": workers.WORKER, "address": "{}:{}".format(*worker.address)}
    return {"modes": {"default": "remote", "allowed": ["remote"]}, "pools": {"remote": {"ready": pool, "most": pool}},
            "remote": {"workers": [place], "tls": tls}}
