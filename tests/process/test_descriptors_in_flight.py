# SPDX-License-Identifier: Apache-2.0
"""A run begins while its user has more descriptors in flight between processes than the run may open: the kernel then refuses to pass
one (ETOOMANYREFS, unix(7)). Such a user is a busy gateway's own, or one of outer_uids that other programs have too."""
import array
import errno
import os
import pathlib
import resource
import socket
import sys

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from modes import Provider
from provider import OK, Host

FIRST, COUNT = 1999900000, 8
AT_ONCE, OPEN_FILES = 200, 256  # the kernel takes 253 in one message; the default of policy.md
LANGUAGES = {"sh": "echo done", "python": "print('done')", "javascript": "console.log('done')"}
WAITS = {"sh": "none", "python": "python", "javascript": "node"}  # the rows of provider.pool()
provider = Provider()


def send(count):
    """The receiving end, which holds that many descriptors in flight until it is closed."""
    receiver, sender = socket.socketpair()
    with sender, open(os.devnull, "rb") as file:
        sender.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()] * count))])
    return receiver


class InFlight:
    """Twice AT_ONCE for every user of the range."""

    def __enter__(self):
        if os.geteuid() != 0:
            raise tap.Skip("takes root to be several users")
        self.held = []
        for uid in range(FIRST, FIRST + COUNT):
            os.setresuid(uid, uid, 0)
            try:
                self.held += [send(AT_ONCE), send(AT_ONCE)]
            finally:
                os.setresuid(0, 0, 0)
        return self

    def __exit__(self, *ignored):
        for receiver in self.held:
            receiver.close()


def refused_to(uid):
    """Does the kernel refuse one more to that user, limited as a run is?"""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        os.setresuid(uid, uid, uid)
        try:
            send(1).close()
        except OSError as error:
            os._exit(1 if error.errno == errno.ETOOMANYREFS else 2)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1


def expect_runs(pool, language, prepare):
    provider.reset()
    policy = {"outer_uids": {"first": FIRST, "count": COUNT}, "max_runs": 2, "pools": {"process": pool},
              "languages": {"python": {"prepare": prepare}} if prepare else {}}
    tap.equal(provider.use_policy(policy), OK)
    for turn in range(3):
        if turn and pool["ready"]:
            tap.eventually(lambda: provider.pool()[1][WAITS[language]]["ready"] > 0, "a sandbox waits", 20)
        status, result = provider.invoke({"language": language, "code": LANGUAGES[language]}, Host())
        tap.equal((status, result["error"], result["stdout"]), (OK, None, "done\n"), result)


def test_the_kernel_refuses():
    with InFlight():
        tap.true(refused_to(FIRST), "with that many")
    tap.true(not refused_to(FIRST), "with none")


def cases():
    ways = {"new": ("sh", 0, None), "new_python": ("python", 0, None), "ready": ("sh", 2, None), "started_python": ("python", 2, {"fork": False}),
            "copied_python": ("python", 2, {"fork": True}), "started_node": ("javascript", 2, None)}

    def case(language, ready, prepare):
        def begins():
            with InFlight():
                expect_runs({"ready": ready, "most": ready}, language, prepare)
        return begins
    return {"test_the_kernel_refuses": test_the_kernel_refuses} | {f"test_{name}_begins": case(*way) for name, way in ways.items()}


if __name__ == "__main__":
    tap.run(cases())
