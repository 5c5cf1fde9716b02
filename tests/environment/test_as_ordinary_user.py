# SPDX-License-Identifier: Apache-2.0
"""Once more as an ordinary user, where the tests are root's: one file of this folder."""
import signal
import sys

import installer
import ordinary_user
import tap


def main():
    installer.need_program()
    try:
        copies = ordinary_user.Copies("environment")
    except tap.Skip as reason:
        tap.skip_all(str(reason))
    copies.add(installer.PROGRAM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner's patience has an end; what was started here goes with it
    process = copies.start([sys.executable, copies.directory / "tests" / "environment" / f"test_{sys.argv[1]}.py"])
    try:
        sys.exit(process.wait())
    finally:
        process.terminate()
        process.wait()
        copies.close()


main()
