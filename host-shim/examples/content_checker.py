# SPDX-License-Identifier: Apache-2.0
"""A content check by bandit (Python) or semgrep (your rules), for the policy's "content_checks.command":
content_checker.py bandit /usr/bin/bandit
content_checker.py semgrep /usr/bin/semgrep /etc/code-execute/semgrep.yml
Reads the call on standard input and prints the findings (docs/abi.md, "Content checks"). Whatever the tool cannot read ends this
program with a status that is not 0: the check has failed, and with "required" the call is refused.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOLD = 64  # a call shows 32 and counts the rest
SUFFIXES = {"bandit": {"python": ".py"},
            "semgrep": {"python": ".py", "javascript": ".js", "typescript": ".ts", "sh": ".sh", "bash": ".bash", "ruby": ".rb",
                        "php": ".php", "lua": ".lua", "r": ".r"}}


def run(directory, *command):
    environment = {**os.environ, "HOME": directory, "PATH": f"{pathlib.Path(command[0]).parent}:{os.environ.get('PATH', '')}"}
    answer = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout)


def bandit(directory, names, program):
    # The program must not silence the check: "# nosec" counts for nothing.
    told = run(directory, program, "-f", "json", "-q", "--ignore-nosec", "--exit-zero", "--", *names)
    read = {os.path.normpath(name) for name in told["metrics"]}
    return told["errors"], read, [(found["filename"], found["line_number"], max(found["col_offset"], 0) + 1, found["test_id"],
                                   found["issue_text"]) for found in told["results"]]


def semgrep(directory, names, program, rules):
    told = run(directory, program, "scan", "--json", "--quiet", "--metrics", "off", "--disable-version-check", "--disable-nosem",
               "--no-git-ignore", "--max-target-bytes", "0", "--config", rules, "--", *names)
    return told["errors"], set(told["paths"]["scanned"]), [(found["path"], found["start"]["line"], found["start"]["col"],
                                                            found["check_id"].split(".")[-1], found["extra"]["message"])
                                                           for found in told["results"]]


def clean(text, limit):
    """Printable, as an approver reads it, and within the limit in bytes."""
    return "".join(c if c.isprintable() else " " for c in text).encode()[:limit].decode(errors="ignore") or "?"


tool, call = sys.argv[1], json.load(sys.stdin)
suffix = SUFFIXES[tool][call["language"]]  # a KeyError is a check that failed, too
paths = {f"0{suffix}": None}
with tempfile.TemporaryDirectory(dir=os.getcwd()) as directory:  # the check's own, gone even if it is killed
    pathlib.Path(directory, f"0{suffix}").write_bytes(call["code"].encode())
    for number, file in enumerate(call["files"], 1):
        if file["path"].endswith(suffix):
            paths[f"{number}{suffix}"] = file["path"]
            pathlib.Path(directory, f"{number}{suffix}").write_bytes(base64.b64decode(file["content_base64"]))
    errors, read, found = {"bandit": bandit, "semgrep": semgrep}[tool](directory, list(paths), *sys.argv[2:])
if errors or not set(paths) <= {os.path.normpath(name) for name in read}:
    sys.exit("not all of the program could be read")
json.dump({"findings": [{"file": paths[os.path.normpath(name)], "line": line, "column": column, "rule": clean(rule, 32),
                         "message": clean(message, 200)} for name, line, column, rule, message in found[:TOLD]]}, sys.stdout)
