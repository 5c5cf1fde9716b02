#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An approver for gateways without a person:   toolhost --approve cmd:/usr/local/bin/approver.py ...
It gets the request as JSON on its standard input and prints a decision. Rules that a person wrote down beforehand: small
programs in Python or the shell, with nothing but a sandbox, run; everything else is denied with a reason that the agent
reads. Whatever goes wrong here (an exception, a missing member, another exit status than 0) denies as well.
"""
import json
import sys

LANGUAGES = ("python", "sh", "bash")
LONGEST = 4096


def reason_to_deny(request):
    if request["language"] not in LANGUAGES:
        return f"only {', '.join(LANGUAGES)} run here without a person"
    if len(request["code"]) > LONGEST:
        return f"more than {LONGEST} characters: no rule can judge that; make it smaller"
    if request["network"]:
        return "no network without a person"
    if request["secrets"]:
        return "no secrets without a person: " + ", ".join(sorted(request["secrets"].values()))
    if request["mode"] not in ("docker", "process"):
        return f"nothing runs in mode {request['mode']} without a person"
    return None


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    denied = reason_to_deny(asked)
    # With the hash in it, the answer can only be taken for the request that was read.
    print(json.dumps({"decision": "deny" if denied else "allow_once", "reason": denied or "within the written rules",
                      "request_sha256": asked["request_sha256"]}))
