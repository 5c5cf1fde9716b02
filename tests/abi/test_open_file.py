# SPDX-License-Identifier: Apache-2.0
"""Files by reference (open_file, since 1.2): what a request may name, what an approver sees, and hosts that give another file than they said."""
import ctypes
import hashlib
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import ALLOW, DENY, NOT_RUN, OK, Host, Provider, ToolHost

provider = Provider()
RIGHTS = ("sandbox.exec", "sandbox.exec.files")
CONTENT = b"a,b\n1,2\n" * 1000
HASH = hashlib.sha256(CONTENT).hexdigest()
READ = {"language": "sh", "code": "sha256sum data/in.csv; wc -c <data/in.csv", "files": [{"path": "data/in.csv", "ref": "r1"}]}
folder = tempfile.TemporaryDirectory()
DATA = pathlib.Path(folder.name) / "data"


def listed(size=len(CONTENT), **more):
    return {"files": [{"ref": "r1", "name": "in.csv", "size": size, **more}]}


def opening(give=None, size=None, verdict=ALLOW, calls=None):
    """An open_file that gives what `give` opens (the file, read-only, if it is not said), and says that size."""
    def open_file(ref, descriptor, ret_size, ret_verdict):
        if calls is not None:
            calls.append((ref, descriptor[0]))
        descriptor[0] = os.open(DATA, os.O_RDONLY) if give is None else give()
        ret_size[0] = os.fstat(descriptor[0]).st_size if size is None else size
        ret_verdict[0] = verdict
    return open_file


def call(open_file, context=None, request=READ, mode="process", wanted=OK, policy=None, rights=RIGHTS, **callbacks):
    DATA.write_bytes(CONTENT)
    none = {"modes": {"allowed": ["process", "none"]}, "capabilities": ["sandbox.exec", "sandbox.exec.files", "sandbox.exec.mode.none"]}
    tap.equal(provider.use_policy({**none, **(policy or {})}, mode), OK, "prepare")
    host = Host((*rights, "sandbox.exec.mode.none"), open_file=open_file, context=listed() if context is None else context, **callbacks)
    code, result = provider.invoke(request, host)
    tap.equal(code, wanted, result["error"])
    return result, host


def test_the_content_arrives():
    for mode in "process", "none":
        for sha256 in {}, {"sha256": HASH}:
            result, _ = call(opening(), listed(**sha256), mode=mode)
            tap.equal(result["stdout"], f"{HASH}  data/in.csv\n{len(CONTENT)}\n", (mode, sha256, result["stderr"]))


def test_the_gateway_keeps_no_descriptor():
    call(opening())
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        call(opening())
        call(opening(size=3), wanted=NOT_RUN)
    tap.equal(sorted(os.listdir("/proc/self/fd")), before)


def test_an_empty_file_and_other_files_beside_it():
    def empty():
        DATA.write_bytes(b"")
        return os.open(DATA, os.O_RDONLY)
    request = {"language": "sh", "code": "wc -c a b/c d; ls -l a | cut -c1-10; echo more >>a; cat a",
               "files": [{"path": "d", "content": "four"}, {"path": "a", "ref": "r1"}, {"path": "b/c", "ref": "r1", "content": None}]}
    result, _ = call(opening(empty), listed(size=0), request)
    tap.equal(result["stdout"].split(), "0 a 0 b/c 4 d 4 total -rw-r--r-- more".split())


def test_an_approver_sees_it_and_the_audit_has_it():
    result, host = call(opening())
    seen = {"name": "in.csv", "path": "data/in.csv", "ref": "r1", "sha256": HASH, "size": len(CONTENT)}
    tap.equal(host.requests[0]["files"], [seen])
    tap.equal(host.requests[0]["arguments"]["files"], READ["files"])
    tap.equal([record["files"] for record in host.records], [[seen], [seen]])
    same = {**READ, "files": [{"path": "data/in.csv", "content": CONTENT.decode()}]}
    _, other = call(None, request=same)
    tap.equal(other.requests[0]["request_sha256"], host.requests[0]["request_sha256"], "the content decides")
    tap.equal(other.requests[0]["files"], [{"path": "data/in.csv", "sha256": HASH, "size": len(CONTENT)}])


def test_only_what_is_listed_is_asked_for():
    calls = []
    for context in {}, {"files": []}, {"files": [{"ref": "R1", "name": "x", "size": 1}]}, {"files": [{"ref": "r12", "name": "x", "size": 1}]}:
        result, host = call(opening(calls=calls), context, wanted=NOT_RUN)
        tap.equal((result["error"]["code"], calls, host.requests), ("file_not_found", [], []), context)
        tap.contains(result["error"]["message"], "request: /files/0/ref: ")
    call(opening(calls=calls))
    tap.equal(set(calls), {(b"r1", -1)}, "the descriptor is preset")


def test_a_caller_without_the_capability_opens_nothing():
    calls = []
    result, _ = call(opening(calls=calls), wanted=NOT_RUN, rights=("sandbox.exec",))
    tap.equal((result["error"]["code"], calls), ("access_denied", []))


def test_a_host_that_says_nothing_or_no():
    def silent(*_):
        pass

    def raises(*_):
        raise ValueError("no")
    for open_file in None, silent, raises, opening(verdict=DENY), opening(verdict=1):
        sys.stderr.flush()
        result, host = call(open_file, wanted=NOT_RUN)
        tap.equal((result["error"]["code"], host.requests), ("file_not_found", []))
        tap.contains(result["error"]["message"], "the gateway did not open the file r1")


def fifo():
    path = os.path.join(folder.name, "fifo")
    if not os.path.exists(path):
        os.mkfifo(path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def closed():
    descriptor = os.open(DATA, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


BAD = {"nothing": (lambda: -1, len(CONTENT)), "0": (lambda: 0, len(CONTENT)), "1": (lambda: 1, len(CONTENT)), "2": (lambda: 2, len(CONTENT)),
       "least": (lambda: -2**31, len(CONTENT)), "most": (lambda: 2**31 - 1, len(CONTENT)), "closed": (closed, len(CONTENT)),
       "a FIFO": (fifo, 0), "a directory": (lambda: os.open(folder.name, os.O_RDONLY), None),
       "write-only": (lambda: os.open(DATA, os.O_WRONLY), None), "a path": (lambda: os.open(DATA, os.O_PATH), None),
       "a device": (lambda: os.open("/dev/null", os.O_RDONLY), 0), "another size": (None, len(CONTENT) + 1), "no size": (None, 0)}


def test_descriptors_that_are_none_of_such_a_file():
    """Each is an error of its own, which the gateway's log hears too; nobody is asked, and 0 to 2 stay open."""
    standard = [os.fstat(number) for number in range(3)]
    for name, (give, size) in BAD.items():
        result, host = call(opening(give, size), wanted=NOT_RUN)
        tap.equal((result["error"]["code"], host.requests), ("file_not_found", []), name)
        tap.contains(result["error"]["message"], "the gateway's open_file: descriptor", name)
        tap.contains(result["error"]["hint"], "the gateway's author", name)
        tap.equal([level for level, _ in host.logs], [1], name)
    tap.equal([os.fstat(number).st_ino for number in range(3)], [status.st_ino for status in standard])


def changing(change, when):
    """An open_file that changes the file in its call of that number; the size it says is always that of the file."""
    calls = []

    def give():
        calls.append(None)
        if len(calls) == when:
            change()
        return os.open(DATA, os.O_RDONLY)
    return opening(give)


def test_a_file_of_another_size_than_listed():
    for size in 1, len(CONTENT) - 1, len(CONTENT) + 1:
        for sha256 in {}, {"sha256": HASH}:
            result, host = call(opening(), listed(size, **sha256), wanted=NOT_RUN)
            tap.equal((result["error"]["code"], result["error"]["retryable"], host.requests), ("file_changed", True, []), size)


CHANGES = {"other bytes": lambda: DATA.write_bytes(CONTENT[:-1] + b"x"), "a byte in front": lambda: DATA.write_bytes(b"x" + CONTENT[1:]),
           "shorter": lambda: DATA.write_bytes(CONTENT[:-1]), "longer": lambda: DATA.write_bytes(CONTENT + b"x"), "empty": lambda: DATA.write_bytes(b"")}


def test_a_file_that_changes_after_the_approval():
    for mode in "process", "none":
        for name, change in CHANGES.items():
            result, host = call(changing(change, 2), mode=mode, wanted=NOT_RUN)
            tap.equal((result["error"]["code"], len(host.requests), result["stdout"]), ("file_changed", 1, ""), (mode, name))


def test_a_hash_of_the_hosts_that_is_not_the_files():
    for mode in "process", "none":
        result, host = call(opening(), listed(sha256="0" * 64), mode=mode, wanted=NOT_RUN)
        tap.equal((result["error"]["code"], len(host.requests)), ("file_changed", 1))
        tap.contains(result["error"]["message"], "a file by reference is not the one that was approved")
        tap.contains(result["error"]["message"], "data/in.csv")


def at_audit(change):
    """Behind every check of the gateway's: the start is recorded, and the descriptor is open."""
    def audit(_record, verdict):
        change()
        verdict[0] = ALLOW
    return audit


def test_a_file_that_changes_while_its_descriptor_is_open():
    for mode in "process", "none":
        for name, change in CHANGES.items():
            result, _ = call(opening(), mode=mode, wanted=NOT_RUN, audit=at_audit(change))
            tap.equal((result["error"]["code"], result["stdout"]), ("file_changed", ""), (mode, name))
        call(opening(), mode=mode, audit=at_audit(lambda: None))


def test_another_position_of_the_descriptor_is_of_no_account():
    def give():
        descriptor = os.open(DATA, os.O_RDWR)
        os.lseek(descriptor, 100, os.SEEK_SET)
        return descriptor
    tap.contains(call(opening(give))[0]["stdout"], HASH)


def test_a_change_between_two_calls_is_another_request():
    asked = []

    def once(_token, request, verdict):
        asked.append(json.loads(request)["request_sha256"])
        verdict[0] = ALLOW
    other = CONTENT[:-1] + b"x"
    call(opening(), request_approval=once)
    call(changing(lambda: DATA.write_bytes(other), 1), request_approval=once)
    tap.true(asked[0] != asked[1], asked)


def test_an_edit_may_name_one_and_only_a_listed_one():
    def editing(ref):
        def approve(token, request, _verdict):
            arguments = {**json.loads(request)["arguments"], "files": [{"path": "data/in.csv", "ref": ref}]}
            provider.reply(token, {"decision": "edit", "arguments": arguments})
        return approve
    plain = {**READ, "files": [{"path": "data/in.csv", "content": "x"}]}
    result, host = call(opening(), request=plain, request_approval=editing("r1"))
    tap.contains(result["stdout"], HASH)
    tap.equal([file["sha256"] for file in host.records[0]["files"]], [HASH])
    calls = []
    result, _ = call(opening(calls=calls), request=plain, request_approval=editing("r2"), wanted=NOT_RUN)
    tap.equal((result["error"]["code"], calls), ("file_not_found", []))


def test_a_call_that_is_cancelled_is_read_no_further():
    def cancelling(ref, descriptor, size, verdict):
        opening()(ref, descriptor, size, verdict)
        tap.equal(provider.cancel(7), 0)
    before = sorted(os.listdir("/proc/self/fd"))
    result, host = call(cancelling, wanted=NOT_RUN, call_id=7)
    tap.equal((result["status"], host.requests), ("cancelled", []))
    tap.equal(sorted(os.listdir("/proc/self/fd")), before)


def test_limits_of_the_policy_and_of_the_memory():
    two = {**READ, "files": [{"path": "a", "ref": "r1"}, {"path": "b", "ref": "r1"}]}
    large = listed(size=1 << 28)
    for policy, context, words in (({"files": {"in": {"max_files": 1}}}, listed(), "2 files by reference is more than the policy's files.in.max_files of 1"),
                                   ({"files": {"in": {"total_bytes": 15999}}}, listed(), "16000 bytes of files by reference is more than the policy's "
                                    "files.in.total_bytes of 15999"),
                                   ({"files": {"in": {"total_bytes": 1 << 30}}}, large, "is more than the run's memory_bytes of 268435456")):
        result, host = call(opening(), context, two, wanted=NOT_RUN, policy=policy)
        tap.equal((result["error"]["code"], host.requests), ("limit_too_high", []))
        tap.contains(result["error"]["message"], words)
    call(opening(), listed(), two, policy={"files": {"in": {"max_files": 2, "total_bytes": 16000}}})


def test_as_many_as_a_policy_may_allow():
    request = {"language": "sh", "code": "cat * | wc -c", "files": [{"path": f"f{number}", "ref": "r1"} for number in range(64)]}
    result, _ = call(opening(), listed(), request, policy={"files": {"in": {"max_files": 64}}})
    tap.equal(result["stdout"], f"{64 * len(CONTENT) + len(request['code'])}\n")


def test_files_do_not_take_the_programs_room():
    request = {"language": "sh", "code": "cat data/in.csv >copy && head -c 1000000 /dev/zero >more && wc -c <copy", "files": READ["files"]}
    limits = {"limits": {"scratch_bytes": {"default": 1048576 + len(CONTENT)}, "file_bytes": {"default": 1048576}}}
    result, _ = call(opening(), request=request, policy=limits)
    tap.equal((result["stdout"], result["stderr"]), (f"{len(CONTENT)}\n", ""))


def test_a_content_check_says_what_it_has_not_read():
    request = {"language": "python", "code": "import helper", "files": [{"path": "helper.py", "ref": "r1"}]}

    def module():
        DATA.write_bytes(b"print('ran')")
        return os.open(DATA, os.O_RDONLY)
    for required, wanted in (False, OK), (True, NOT_RUN):
        rules = {"content_checks": {"languages": {"python": {"action": "warn", "required": required, "forbidden_modules": ["socket"]}}}}
        result, host = call(opening(module), listed(12), request, policy=rules, wanted=wanted)
        if wanted == OK:
            tap.equal([finding["rule"] for finding in host.requests[0]["content_findings"]], ["not_checked"])
            tap.equal(result["stdout"], "ran\n")
        else:
            tap.contains(result["error"]["message"], "a Python file by reference is not read")


def test_a_gateways_checker_is_told_the_hash_and_no_content():
    seen = []

    def check(request, _buffer, _capacity, length, verdict):
        seen.append(json.loads(request)["files"])
        ctypes.memmove(_buffer, b'{"findings":[]}', 15)
        length[0], verdict[0] = 15, ALLOW
    call(opening(), check_content=check)
    tap.equal(seen, [[{"name": "in.csv", "path": "data/in.csv", "ref": "r1", "sha256": HASH, "size": len(CONTENT)}]])


def test_a_gateway_of_1_1_offers_none():
    DATA.write_bytes(CONTENT)
    tap.equal(provider.use_policy({}, "process"), OK)
    host = Host(RIGHTS, open_file=opening(), context=listed())
    host.struct.struct_size = ToolHost.open_file.offset
    code, result = provider.invoke(READ, host)
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "file_not_found"))


tap.run(globals())
