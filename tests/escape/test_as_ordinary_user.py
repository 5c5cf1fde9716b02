# SPDX-License-Identifier: Apache-2.0
"""The attacks on process mode, with namespaces or without (test_attacks.py), from a gateway that is an ordinary user's, without a control
group: in the long form. What takes root, or somebody who counts, is skipped with that reason."""
import os
import signal
import sys

import ordinary_user
import tap


def main():
    if "1" not in (os.environ.get("ESCAPE_LONG"), os.environ.get("CODE_EXECUTE_TEST_LONG")):
        tap.skip_all("the attacks once more: CODE_EXECUTE_TEST_LONG=1")
    try:
        copies = ordinary_user.Copies("escape")
    except tap.Skip as reason:
        tap.skip_all(str(reason))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner's patience has an end; what was started here goes with it
    process = copies.start([sys.executable, copies.directory / "tests" / "escape" / "test_attacks.py"],
                           ESCAPE_BACKEND=os.environ.get("ESCAPE_BACKEND", "process"), ESCAPE_KNOCK_OUT=str(copies.add(os.environ["ESCAPE_KNOCK_OUT"])))
    try:
        sys.exit(process.wait())
    finally:
        process.terminate()
        process.wait()
        copies.close()


main()
