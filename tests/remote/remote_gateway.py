# SPDX-License-Identifier: Apache-2.0
"""A gateway with mode remote in this process, and the policy and calls of its cases."""
import contextlib
import os
import tempfile
import threading

import tap
import workers
from provider import OK, Host, Provider
from workers import PATIENCE, WORKER, Worker


def need_programs():
    workers.need_program()
    if not (workers.PROGRAM.parent / "code-execute-remote").exists():
        tap.skip_all("the backend of mode remote is not built here: it takes OpenSSL 3")


need_programs()
DIRECTORY = tempfile.TemporaryDirectory(prefix="code-execute-remote-")
os.chmod(DIRECTORY.name, 0o755)
FILES = workers.Authorities(DIRECTORY.name)
SECOND = FILES.ours.issue(FILES.directory / "second", "second", "serverAuth", "DNS:worker-2.example")
AMPLE_MS = 300000
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session", "sandbox.exec.tools", "sandbox.exec.secrets", "sandbox.exec.network",
          "sandbox.exec.endpoints")
LIMITS = {name: {"default": AMPLE_MS, "max": AMPLE_MS} for name in ("wall_ms", "cpu_ms")}
provider = Provider()


def a_worker(files=None, **members):
    return Worker(DIRECTORY.name, files or FILES.worker, **members)


def second(**members):
    return a_worker(SECOND, name="worker-2", **members)


def place(address, name=WORKER):
    return {"name": name, "address": "{}:{}".format(*address)}


def policy_of(places, files=None, **members):
    files = files or FILES.gateway
    tls = {"authority": str(files / "ca.pem"), "certificate": str(files / "cert.pem"), "key": str(files / "key.pem")}
    where = {"workers": places} if isinstance(places, list) else {"discover": places}
    return {"modes": {"default": "remote", "allowed": ["remote"]}, "approval": {"default": "allow"}, "remote": {**where, "tls": tls},
            "pools": {"remote": {"ready": 0, "most": 0}}, "limits": LIMITS, "secrets": {"allowed": ["canary"]},
            "sessions": {"max_total": 4}, "tools": {"allowed": ["*"]}, "network": {"allowed": True}, "workspace": {"below": ["/tmp"]}, **members}


@contextlib.contextmanager
def gateway(*places, files=None, **members):
    """With these workers in its policy; each as (worker, name), or as a place."""
    listed = [at if isinstance(at, dict) else place(at[0].await_ready().address, at[1]) for at in places]
    tap.equal(provider.use_policy(policy_of(listed, files, **members)), OK, "prepare")
    try:
        yield
    finally:
        provider.reset()


def call(code, host=None, **members):
    status, result = provider.invoke({"language": "python", "code": code, **members}, host or Host(RIGHTS))
    return status, result


def completed(code, host=None, **members):
    _, result = call(code, host, **members)
    tap.equal((result["status"], result["error"]), ("completed", None), result)
    return result


def refused(code, error, host=None, **members):
    _, result = call(code, host, **members)
    tap.equal(result["error"] and result["error"]["code"], error, result)
    tap.true(result["error"]["hint"], "no hint")
    return result


class Call(threading.Thread):
    """A call on a thread of its own. It has begun when its program has printed something."""

    def __init__(self, code, host=None, **members):
        super().__init__(daemon=True)
        self.host = host or Host(RIGHTS, call_id=int.from_bytes(os.urandom(4), "big"))
        self.code, self.members, self.outcome = code, members, None
        self.start()

    def run(self):
        self.outcome = call(self.code, self.host, **self.members)

    def await_begun(self):
        tap.true(tap.within(lambda: self.host.output[1], PATIENCE), f"it has not begun: {self.outcome}")
        return self

    def end(self):
        self.join(PATIENCE)
        tap.true(self.outcome, "the call does not end")
        return self.outcome[1]


SLEEP = "import os, time\nos.write(1, b'begun\\n')\ntime.sleep(3600)"  # one write, so that who has seen a part has seen it all
