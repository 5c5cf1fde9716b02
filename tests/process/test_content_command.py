# SPDX-License-Identifier: Apache-2.0
"""A content check by a command of the operator's: what it is told, what it finds, and each way in which it can fail to answer."""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider
from provider import NOT_RUN, OK, Host

provider = Provider()
ANSWER = {"findings": [{"line": 1, "column": 1, "rule": "house-rule", "message": "says ran"}]}
directory = tempfile.TemporaryDirectory()
os.chmod(directory.name, 0o755)


def call(script, wanted, timeout_ms=20000, **terms):
    path = pathlib.Path(directory.name, "check")
    path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    path.chmod(0o755)
    command = {"action": "warn", "argv": [str(path), "an argument"], "timeout_ms": timeout_ms, **terms}
    tap.equal(provider.use_policy({"content_checks": {"command": command}}), OK, "prepare")
    host = Host()
    code, result = provider.invoke({"language": "sh", "code": "echo ran"}, host)
    tap.true(code == wanted, result)
    return result, host


def says(answer):
    return f"cat <<'EOF'\n{json.dumps(answer)}\nEOF\n"


def test_it_is_told_the_program_and_believed():
    # Only a command that has read the question gives the answer.
    told = "".join(f"*'{member}'" for member in ('"code":"echo ran"', '"files":[]', '"language":"sh"'))
    script = f"case $(cat) in {told}*) ;; *) exit 3 ;; esac; [ \"$1\" = 'an argument' ] || exit 3\n" + says(ANSWER)
    result, host = call(script, OK, required=True)
    tap.equal((result["stdout"], result["notes"]), ("ran\n", ["content check: line 1, column 1: says ran (house-rule)"]))
    tap.equal(host.requests[0]["content_findings"], [{"file": None, **ANSWER["findings"][0]}])
    result, host = call(script, NOT_RUN, action="refuse")
    tap.equal((result["error"]["code"], host.requests), ("content_refused", []))
    call(says({"findings": []}), OK, action="refuse", required=True)


def test_a_bad_answer_is_a_failed_check():
    for script, why in (("exit 1\n", "it did not end with status 0"), (says(ANSWER) + "exit 1\n", "it did not end with status 0"), ("", "answer:"),
                        ("echo junk\n", "answer:"), (says(ANSWER) + "echo more\n", "answer:"), ("kill -9 $$\n", "signal"),
                        ("head -c 100000 /dev/zero\n", "it printed too much"), ("exec /nowhere/at/all\n", "it did not end with status 0")):
        result, host = call(script, NOT_RUN, required=True)
        tap.contains(result["error"]["message"], f"the content check of the policy's command failed: {why}", script)
        tap.equal((result["error"]["code"], host.requests), ("content_refused", []))
        _, host = call(script, OK)
        tap.equal([finding["rule"] for finding in host.requests[0]["content_findings"]], ["not_checked"], script)


def test_its_time_is_bounded():
    result, _ = call("sleep 100\n" + says(ANSWER), NOT_RUN, timeout_ms=200, required=True)
    tap.contains(result["error"]["message"], "failed: wall_timeout")


def test_a_command_that_is_not_there():
    command = {"action": "warn", "required": True, "argv": ["/nowhere/check"], "timeout_ms": 1000}
    tap.equal(provider.use_policy({"content_checks": {"command": command}}), OK)
    code, result = provider.invoke({"language": "sh", "code": "echo ran"}, Host())
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "content_refused"))
    tap.contains(result["error"]["message"], "/nowhere/check")


def test_it_has_nothing_of_the_gateway():
    os.environ["OF_THE_GATEWAY"] = "1"
    result, _ = call("[ -z \"$OF_THE_GATEWAY\" ] && [ \"$(ls /proc/self/fd | wc -l)\" -le 4 ] || exit 3\n" + says(ANSWER), OK, required=True)
    tap.equal(result["stdout"], "ran\n")


tap.run(globals())
