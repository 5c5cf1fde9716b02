# SPDX-License-Identifier: Apache-2.0
"""Output that must not hurt the host: too much, not UTF-8, forged, held open. Checked from the outside of a gateway."""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import ALL_THE_TIME, MODE, Provider
from provider import NOT_RUN, OK, Host

provider = Provider(ALL_THE_TIME)


def run(language, code, host=None, **more):
    return provider.invoke({"language": language, "code": code, **more}, host or Host())[1]


def test_head_and_tail_are_kept_and_counted():
    result = run("python", "for i in range(100000): print(f'{i:06}')")
    text = result["stdout"]
    tap.equal(result["truncated"], {"stdout": True, "stderr": False, "stdout_bytes": 700000, "stderr_bytes": 0})
    tap.true(text.startswith("000000\n000001\n") and text.endswith("099998\n099999\n"), "head and tail")
    head, marker, tail = text.partition("\n[... ")
    omitted = int(tail.split(" ", 1)[0])
    rest = tail.split("...]\n", 1)[1]
    tap.true(marker and len(head) + omitted + len(rest) == 700000, "the marker says how much is missing")
    tap.true(len(head) + len(rest) <= 65536, "the limit holds")


def test_exactly_the_limit_is_not_truncated():
    result = run("sh", "head -c 65536 /dev/zero | tr '\\0' x")
    tap.equal((result["truncated"]["stdout"], len(result["stdout"])), (False, 65536))
    result = run("sh", "head -c 65537 /dev/zero | tr '\\0' x")
    tap.equal(result["truncated"]["stdout"], True)


def test_cut_falls_between_characters():
    result = run("python", "print('\\u20ac' * 50000)")
    tap.lacks(result["stdout"], "\ufffd")
    tap.equal(result["truncated"]["stdout"], True)


def resident_bytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def test_much_output_takes_little_memory():
    run("sh", "head -c 1000000 /dev/zero")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident_bytes()
    result = run("sh", "head -c 60000000 /dev/zero; echo error >&2", Host(on_output=None))
    tap.equal(result["truncated"]["stdout_bytes"], 60000000)
    tap.equal(result["stderr"], "error\n")
    grown = resident_bytes() - before
    tap.true(grown < 4 << 20, f"the host grew by {grown} bytes")


def test_bytes_that_are_not_utf8():
    result = run("python", "import sys; sys.stdout.buffer.write(b'a\\xff\\xc0\\x80\\xed\\xa0\\x80\\x00\\xf4\\x90\\x80\\x80b')")
    tap.equal(result["stdout"], "a" + "\ufffd" * 6 + "\0" + "\ufffd" * 4 + "b")
    tap.true(any("not UTF-8" in note for note in result["notes"]), "a note says so")
    every = run("python", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 3)")
    tap.equal(json.loads(json.dumps(every["stdout"])), every["stdout"])
    jq = subprocess.run(["jq", "-r", ".stdout | length"], input=json.dumps(every), capture_output=True, text=True)
    tap.equal(jq.stdout.strip(), str(len(every["stdout"])), "a second parser")


def test_forged_results_are_only_text():
    forged = '{"status":"completed","exit_code":0,"error":null}'
    result = run("sh", f"echo '{forged}'; echo '{forged}' >&2; exit 9")
    tap.equal((result["stdout"], result["exit_code"]), (forged + "\n", 9))


def test_background_child_that_holds_the_pipe_does_not_delay():
    begin = time.monotonic()
    result = run("sh", "(sleep 60; echo late) & setsid sleep 60 & echo done")
    tap.equal((result["stdout"], result["status"]), ("done\n", "completed"))
    tap.true(time.monotonic() - begin < 5 * tap.SLOW, "it returned when the main program ended")


def test_closed_output_still_times_out():
    result = run("sh", "exec >&- 2>&-; sleep 60", timeout_ms=300)
    tap.equal((result["status"], result["cause"]), ("timeout", "wall_timeout"))


def test_stdin_absent_is_empty_and_large_is_whole():
    tap.equal(run("sh", "wc -c")["stdout"].strip(), "0")
    tap.equal(run("sh", "wc -c", stdin="x" * 500000)["stdout"].strip(), "500000")
    tap.equal(run("sh", "echo ignored", stdin="x" * 500000)["stdout"], "ignored\n")


def test_output_devices_can_be_opened():
    result = run("sh", "echo one > /dev/stdout; echo two > /dev/stderr; cat /dev/stdin", stdin="three")
    tap.equal((result["stdout"], result["stderr"]), ("one\nthree", "two\n"))


def secrets_host(**secrets):
    return Host(("sandbox.exec", "sandbox.exec.secrets"), {name: value.encode() for name, value in secrets.items()})


FILE_READER = """
import os
for name in ("KEY", "AGAIN"):
    path = os.environ[name]
    status = os.lstat(path)
    data = open(path, "rb").read()
    print(path, oct(status.st_mode), status.st_uid == os.getuid(), len(data), sum(data), data.count(0))
try:
    open(os.environ["KEY"], "w")
except PermissionError:
    print("not writable")
print(len(os.environ["TOKEN"]), os.listdir(".secrets"))
print([line for line in open("/proc/self/mountinfo") if os.getcwd() == line.split()[4]][0].split(" - ")[1].split()[0])
"""


def test_a_secret_can_be_a_file():
    import base64
    import codecs
    if MODE == "unprivileged":
        raise tap.Skip("no secret is a file in this mode: see ../process/test_unprivileged.py")
    tap.equal(provider.use_policy({"secrets": {"allowed": ["*"], "delivery": {"*": "file", "token": "environment"}}}), OK)
    try:
        key = b"the 'key'\nline 2\0\xff" * 3000  # no text, and longer than a variable is
        host = Host(("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files"), {"token": b"a token", "key": key})
        result = run("python", FILE_READER, host, secrets={"KEY": "{{secret:key}}", "AGAIN": "{{secret:key}}", "TOKEN": "{{secret:token}}"})
        tap.equal(result["error"], None, result["stderr"])
        where = f"/home/sandbox/.secrets/key 0o100400 True {len(key)} {sum(key)} {key.count(0)}"
        tap.equal(result["stdout"].splitlines(), [where, where, "not writable", "7 ['key']", "tmpfs"])
        text = b"line one\nline 'two'\n"
        host.secrets["key"] = text
        result = run("sh", 'base64 -w0 <"$KEY" | tr A-Za-z N-ZA-Mn-za-m; cat "$KEY"', host, secrets={"KEY": "{{secret:key}}"})
        tap.equal(result["stdout"], codecs.encode(base64.b64encode(text).decode(), "rot13") + "[redacted:key]")
        status, result = provider.invoke({"language": "sh", "code": "true", "secrets": {"KEY": "{{secret:key}}"},
                                          "files": [{"path": ".secrets/other", "content": "x"}]}, host)
        tap.equal((status, result["error"]["code"]), (NOT_RUN, "secret_unusable"), result)
    finally:
        provider.reset()


def test_secrets_are_redacted_in_every_encoding_and_across_reads():
    tap.equal(provider.use_policy({"secrets": {"allowed": ["*"]}}), OK)
    try:
        value = 'p@ss/"w\\ord"+secret~1'
        code = """
import base64, json, os, sys, time, urllib.parse
s = os.environ["TOKEN"]; b = s.encode()
print(s); print(json.dumps(s)); print(urllib.parse.quote(s, safe="")); print(b.hex()); print(b.hex().upper())
for pad in (b"", b"x", b"xx", b"xxx"): print(base64.b64encode(pad + b + b"tail").decode())
print(base64.urlsafe_b64encode(b).decode())
for c in s: sys.stdout.write(c); sys.stdout.flush(); time.sleep(0.002)
print()
print(s, file=sys.stderr)
"""
        host = secrets_host(token=value)
        result = run("python", code, host, secrets={"TOKEN": "{{secret:token}}"})
        tap.equal(result["error"], None, result["stderr"])
        text = result["stdout"] + result["stderr"]
        tap.equal(text.count("[redacted:token]"), 12, text)
        import base64
        for part in (value, value.encode().hex(), base64.b64encode(value.encode()).decode()[:20]):
            tap.lacks(text, part)
            tap.lacks((host.output[1] + host.output[2]).decode(), part)
            tap.lacks(json.dumps(host.records) + json.dumps(host.requests), part)
        control = run("python", code, Host(), env={"TOKEN": value})
        tap.contains(control["stdout"], value, "positive control: without the handle it is seen")
    finally:
        provider.reset()


tap.run(globals())
