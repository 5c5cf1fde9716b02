# SPDX-License-Identifier: Apache-2.0
"""The policy's providers of secrets, through the whole ABI: who is asked after whom, and what is refused of files and commands."""
import hashlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider
from provider import ABSENT, DENY, NOT_RUN, OK, Host

LIMIT = 65536
RIGHTS = ("sandbox.exec", "sandbox.exec.secrets")
provider = Provider()


def sha256(value):
    return hashlib.sha256(value.encode() if isinstance(value, str) else value).hexdigest()


class Directory:
    """A directory of secrets, as its owner would make it."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="secrets-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def put(self, name, value, mode=0o400):
        path = self.path / name
        path.write_bytes(value if isinstance(value, bytes) else value.encode())
        path.chmod(mode)
        return path


def answering(verdict):
    def read_secret(_name, _buffer, _capacity, _length, ret):
        ret[0] = verdict
    return read_secret


def use(*providers):
    tap.equal(provider.use_policy({"secrets": {"allowed": ["*"], "providers": list(providers)}}), OK)


def ask(name="token", read_secret=None):
    """Status and result of a program that prints the hash of the secret."""
    host = Host(RIGHTS, read_secret=read_secret)
    host.result = provider.invoke({"language": "sh", "code": 'printf %s "$TOKEN" | sha256sum | cut -d" " -f1',
                                   "secrets": {"TOKEN": "{{secret:%s}}" % name}}, host)
    return host


def gives(value, *arguments, **keywords):
    host = ask(*arguments, **keywords)
    status, result = host.result
    tap.equal((status, result["error"]), (OK, None), result)
    tap.equal(result["stdout"].strip(), sha256(value))


def refuses(code, part, *arguments, **keywords):
    host = ask(*arguments, **keywords)
    status, result = host.result
    tap.equal((status, result["error"]["code"]), (NOT_RUN, code), result)
    tap.contains(result["error"]["message"], part)
    tap.equal([record["event"] for record in host.records], ["refused"])
    return result


def test_the_host_is_asked_first_and_its_denial_is_the_last_word():
    with Directory() as directory:
        directory.put("token", "of the file")
        use({"type": "files", "directory": str(directory.path)})
        gives("of the file")  # a host without secrets
        gives("of the file", read_secret=answering(ABSENT))
        for verdict in (DENY, ABSENT ^ 1, 1):
            refuses("unknown_secret", "unknown secret: token", read_secret=answering(verdict))
        host = Host(RIGHTS, {"token": b"of the host"})
        gives("of the host", read_secret=host.read_secret)
        use()
        for nobody in (None, answering(ABSENT)):
            refuses("unknown_secret", "unknown secret: token", read_secret=nobody)


def test_providers_are_asked_in_their_order():
    with Directory() as first, Directory() as second:
        first.put("one", "1st one")
        second.put("one", "2nd one")
        second.put("two", "2nd two")
        use({"type": "files", "directory": str(first.path) + "/absent"}, {"type": "files", "directory": str(first.path)},
            {"type": "files", "directory": str(second.path)})
        gives("1st one", "one")
        gives("2nd two", "two")
        refuses("unknown_secret", "three", "three")
        # One that cannot give what it has ends the search.
        (first.path / "one").chmod(0o404)
        refuses("secret_unavailable", "users other than its owner may read it", "one")


def test_one_line_feed_is_taken_off_a_file():
    with Directory() as directory:
        use({"type": "files", "directory": str(directory.path)})
        for content, value in ((b"x", b"x"), (b"x\n", b"x"), (b"x\n\n", b"x\n"), (b"x\r\n", b"x\r"), (b"a\nb\n", b"a\nb")):
            directory.put("token", content, 0o600)
            # $(...) is not involved: the program sees the variable as it is.
            gives(value)
        for content in (b"", b"\n"):
            directory.put("token", content, 0o600)
            gives(b"")


def test_files_that_are_not_safe_are_refused():
    with Directory() as directory:
        strict = {"type": "files", "directory": str(directory.path)}
        path = directory.put("token", "value")
        for mode in (0o440, 0o404, 0o444, 0o420, 0o402, 0o410, 0o401, 0o666):
            path.chmod(mode)
            use(strict)
            refuses("secret_unavailable", "users other than its owner may")
            use({**strict, "shared": True})
            if mode & 0o022:
                refuses("secret_unavailable", "users other than its owner may write to it")
            else:
                gives("value")
        use(strict)
        path.chmod(0o400)
        gives("value")
        if os.geteuid() == 0:
            os.chown(path, 65534, -1)
            refuses("secret_unavailable", "it belongs to another user")
            os.chown(path, 0, -1)
        directory.path.chmod(0o777)
        refuses("secret_unavailable", "the directory belongs to another user, or other users may write to it")
        directory.path.chmod(0o1777)
        refuses("secret_unavailable", "the directory belongs to another user, or other users may write to it")
        directory.path.chmod(0o700)
        path.unlink()
        os.mkfifo(path, 0o400)
        refuses("secret_unavailable", "it is not a regular file")
        path.unlink()
        path.mkdir(0o700)
        refuses("secret_unavailable", "it is not a regular file")


def test_links_are_followed_only_below_and_only_if_the_policy_says_so():
    with Directory() as directory, Directory() as outside:
        use({"type": "files", "directory": str(directory.path)})
        outside.put("token", "outside")
        (directory.path / "..2026").mkdir(0o755)
        directory.put("..2026/inside", "inside")
        (directory.path / "..data").symlink_to("..2026")
        (directory.path / "inside").symlink_to("..data/inside")  # as a Kubernetes volume has it
        (directory.path / "token").symlink_to(outside.path / "token")
        (directory.path / "up").symlink_to(f"../{outside.path.name}/token")
        for name in ("inside", "token", "up"):
            refuses("secret_unavailable", "cannot be read from", name)
        use({"type": "files", "directory": str(directory.path), "links": True})
        gives("inside", "inside")
        for name in ("token", "up"):
            refuses("secret_unavailable", "cannot be read from", name)


def test_a_value_has_its_limit():
    with Directory() as directory:
        use({"type": "files", "directory": str(directory.path)})
        for length, more, good in ((LIMIT, b"", True), (LIMIT, b"\n", True), (LIMIT + 1, b"", False), (LIMIT, b"\n\n", False),
                                   (10 * LIMIT, b"", False)):
            directory.put("token", b"x" * length + more, 0o600)
            if good:
                gives(b"x" * length)
            else:
                refuses("secret_too_large", 'the secret "token" is longer than 65536 bytes')
        directory.put("token", b"a\0b", 0o600)
        refuses("secret_unusable", 'the secret "token" contains a NUL')


def test_credentials_of_systemd():
    with Directory() as directory:
        directory.put("token", "of systemd", 0o440)  # with User= the group's bits are an access control list's mask
        use({"type": "systemd"})
        os.environ.pop("CREDENTIALS_DIRECTORY", None)
        refuses("unknown_secret", "token")
        try:
            os.environ["CREDENTIALS_DIRECTORY"] = str(directory.path)
            gives("of systemd")
            refuses("unknown_secret", "other", "other")
            (directory.path / "token").chmod(0o444)
            refuses("secret_unavailable", "users other than its owner may read it")
            os.environ["CREDENTIALS_DIRECTORY"] = "relative"
            refuses("unknown_secret", "token")
        finally:
            del os.environ["CREDENTIALS_DIRECTORY"]
        (directory.path / "token").chmod(0o400)
        use({"type": "systemd", "directory": str(directory.path)})
        gives("of systemd")


def test_variables_of_the_gateway_by_their_prefix():
    os.environ.update({"GW_SECRET_token": "of the variable", "GW_SECRET_TOKEN": "another", "HOME_token": "no"})
    try:
        use({"type": "environment", "prefix": "GW_SECRET_"})
        gives("of the variable")
        gives("another", "TOKEN")
        for name in ("Token", "to-ken", "to.ken"):
            refuses("unknown_secret", name, name)
    finally:
        for name in ("GW_SECRET_token", "GW_SECRET_TOKEN", "HOME_token"):
            del os.environ[name]


def script(directory, text, name="command"):
    path = directory.put(name, "#!/bin/sh\n" + text, 0o700)
    return str(path)


def test_a_command_gets_the_name_as_its_own_argument():
    with Directory() as directory:
        command = script(directory, 'printf "%s|" "$#" "$@"; printf "%s" "$EXTRA|$GIVEN|$HIDDEN"; env >' + f"{directory.path}/env\n"
                         f"ls -l /proc/self/fd >{directory.path}/fds; pwd >{directory.path}/cwd; cat; echo oops >&2")
        os.environ.update({"GIVEN": "given", "HIDDEN": "hidden"})
        try:
            use({"type": "command", "argv": [command, "a b", "$(touch /tmp/never)", "{name}", "-x"], "environment": {"EXTRA": "extra"},
                 "inherit": ["GIVEN", "NOT_THERE"]})
            gives("4|a b|$(touch /tmp/never)|to.ken-1|-x|extra|given|", "to.ken-1")
        finally:
            del os.environ["GIVEN"], os.environ["HIDDEN"]
        names = {line.split("=")[0] for line in (directory.path / "env").read_text().splitlines()}
        tap.equal(names - {"PWD", "SHLVL", "_", "OLDPWD"}, {"PATH", "EXTRA", "GIVEN"})
        tap.equal((directory.path / "cwd").read_text(), "/\n")
        fds = [line.split()[-3] for line in (directory.path / "fds").read_text().splitlines() if "->" in line]
        tap.true(set(fds) <= {"0", "1", "2", "3"}, fds)  # 3 is ls's own


def test_a_command_that_fails_is_a_refusal_without_its_words():
    with Directory() as directory:
        for text, code, part in (("echo value; exit 3", "secret_unavailable", "ended with status 3"),
                                 ("echo value; kill -9 $$", "secret_unavailable", "was ended by signal 9"),
                                 ("head -c 70000 /dev/zero | tr '\\0' x; sleep 1000", "secret_too_large", "longer than 65536 bytes"),
                                 ("head -c 65537 /dev/zero | tr '\\0' x", "secret_too_large", "longer than 65536 bytes"),
                                 ("printf 'a\\0b'", "secret_unusable", "contains a NUL")):
            use({"type": "command", "argv": [script(directory, text), "{name}"]})
            result = refuses(code, part)
            tap.lacks(str(result), "value")
            tap.lacks(str(result), "xxx")
        use({"type": "command", "argv": [str(directory.path / "absent"), "{name}"]})
        refuses("secret_unavailable", "cannot be started: No such file or directory")
        use({"type": "command", "argv": [str(directory.put("text", "no program", 0o700)), "{name}"]})
        refuses("secret_unavailable", "cannot be started: Exec format error")


def test_a_command_gives_as_much_as_a_value_may_have():
    with Directory() as directory:
        for text, value in (("head -c 65536 /dev/zero | tr '\\0' x", b"x" * LIMIT), ("echo value", b"value"), ("true", b""),
                            ("head -c 65536 /dev/zero | tr '\\0' x; echo", b"x" * LIMIT)):
            use({"type": "command", "argv": [script(directory, text), "{name}"]})
            gives(value)


def alive(path):
    """The processes whose numbers are in the file."""
    return [pid for pid in map(int, path.read_text().split()) if pathlib.Path(f"/proc/{pid}").exists()]


# It leaves a process behind in a session of its own, which holds the output open, and one below that.
LEAVES = 'setsid sh -c "echo \\$\\$ >>{pids}; sleep 1000 & echo \\$! >>{pids}; wait" & echo $$ >>{pids}; while [ "$(wc -l <{pids})" -lt 3 ]; do sleep 0.05; done\n'


def test_a_command_is_ended_with_all_that_it_started():
    with Directory() as directory:
        pids = directory.path / "pids"
        leaves = LEAVES.format(pids=pids)
        use({"type": "command", "argv": [script(directory, leaves + "echo value"), "{name}"]})
        gives("value")
        tap.equal(len(pids.read_text().split()), 3)
        tap.true(tap.within(lambda: not alive(pids), 30), f"after its end: {alive(pids)}")
        pids.write_text("")
        use({"type": "command", "argv": [script(directory, leaves + "echo value; exec sleep 1000"), "{name}"], "timeout_ms": 3000})
        refuses("secret_unavailable", "did not end in time and was killed")
        tap.true(tap.within(lambda: not alive(pids), 30), f"after its time: {alive(pids)}")


def test_a_call_that_is_cancelled_does_not_wait_for_its_command():
    with Directory() as directory:
        pids = directory.path / "pids"
        use({"type": "command", "argv": [script(directory, LEAVES.format(pids=pids) + "exec sleep 1000"), "{name}"],
             "timeout_ms": 120000})
        pids.write_text("")
        host = Host(RIGHTS, call_id=77, read_secret=None)
        results = []
        call = threading.Thread(target=lambda: results.append(provider.invoke(
            {"language": "sh", "code": "true", "secrets": {"TOKEN": "{{secret:token}}"}}, host)))
        call.start()
        tap.true(tap.within(lambda: len(pids.read_text().split()) == 3, 60), "the command runs")
        begin = time.monotonic()
        provider.cancel(77)
        call.join()
        tap.true(time.monotonic() - begin < 60, "it did not wait")
        tap.equal((results[0][0], results[0][1]["error"]["code"]), (NOT_RUN, "cancelled"))
        tap.true(tap.within(lambda: not alive(pids), 30), f"left: {alive(pids)}")


def test_the_gateway_has_no_child_and_no_descriptor_more():
    with Directory() as directory:
        use({"type": "command", "argv": [script(directory, "echo value"), "{name}"]})
        gives("value")
        before = set(os.listdir("/proc/self/fd"))
        for _ in range(5):
            gives("value")
        tap.equal(len(set(os.listdir("/proc/self/fd"))), len(before))
        try:
            tap.equal(os.waitpid(-1, os.WNOHANG), None, "a child")
        except ChildProcessError:
            pass


def test_a_gateway_that_dies_takes_the_command_with_it():
    with Directory() as directory:
        pids = directory.path / "pids"
        pids.write_text("")
        use({"type": "command", "argv": [script(directory, LEAVES.format(pids=pids) + "exec sleep 1000"), "{name}"],
             "timeout_ms": 120000})
        policy = directory.put("policy.json", '{"secrets": {"allowed": ["*"], "providers": [{"type": "command", "argv": ["%s", "{name}"], '
                               '"timeout_ms": 120000}]}}' % (directory.path / "command"), 0o600)
        child = os.spawnve(os.P_NOWAIT, sys.executable, [sys.executable, __file__, "--gateway", str(policy)], os.environ)
        tap.true(tap.within(lambda: len(pids.read_text().split()) == 3, 60), "the command runs")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        tap.true(tap.within(lambda: not alive(pids), 30), f"left: {alive(pids)}")


if sys.argv[1:2] == ["--gateway"]:
    provider.prepare(policy_file=sys.argv[2])
    ask()
else:
    tap.run(globals())
