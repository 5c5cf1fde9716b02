# SPDX-License-Identifier: Apache-2.0
"""scripts/install-packages on releases of Debian that name a package differently: which of the alternatives it installs. The programs
that ask and install are stand-ins; scripts/packages itself is read for its form."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import tap

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
PACKAGES = """# a comment
build plain
check renamed|original
check other
"""
STAND_INS = {
    "dpkg-query": 'for name; do :; done; case " $INSTALLED " in *" $name "*) echo "install ok installed" ;; *) exit 1 ;; esac',
    "apt-cache": 'case " $KNOWN " in *" $2 "*) printf "%s:\\n  Candidate: 1.0\\n" "$2" ;; *) printf "%s:\\n  Candidate: (none)\\n" "$2" ;; esac',
    "apt-get": 'echo "$@" >>"$CALLS"',
    "sudo": 'exec "$@"',
}


def calls(installed, known, *groups):
    """What is called to change the machine, and the exit status."""
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        shutil.copy(SCRIPTS / "install-packages", directory)
        (directory / "packages").write_text(PACKAGES)
        for name, text in {**STAND_INS, "apt-install": 'echo install "$@" >>"$CALLS"'}.items():
            (directory / name).write_text(f"#!/bin/sh\n{text}\n")
            (directory / name).chmod(0o755)
        log = directory / "calls"
        environment = {"PATH": f"{directory}:{os.environ['PATH']}", "CALLS": str(log), "INSTALLED": installed, "KNOWN": known}
        status = subprocess.run([directory / "install-packages", *groups], env=environment, stderr=subprocess.DEVNULL).returncode
        return status, log.read_text().splitlines() if log.exists() else []


def test_one_alternative_is_enough():
    for there in ("renamed", "original"):
        tap.equal(calls(f"plain other {there}", "", "build", "check"), (0, []), there)


def test_the_first_that_the_release_has_is_installed():
    tap.equal(calls("other", "renamed original", "check"), (0, ["update -qq", "install renamed"]), "both")
    tap.equal(calls("other", "original", "check"), (0, ["update -qq", "install original"]), "the old name")
    tap.equal(calls("other", "renamed", "check"), (0, ["update -qq", "install renamed"]), "the new name")


def test_a_package_that_no_release_has_is_named_to_apt():
    tap.equal(calls("other", "", "check"), (0, ["update -qq", "install original"]), "neither")


def test_only_what_is_missing_is_installed():
    tap.equal(calls("", "plain renamed other", "build", "check"), (0, ["update -qq", "install plain renamed other"]), "all")
    tap.equal(calls("plain", "", "build"), (0, []), "nothing")


def test_the_list_has_its_form():
    lines = [line for line in (SCRIPTS / "packages").read_text().splitlines() if not line.startswith("#")]
    name = r"[a-z0-9][a-z0-9.+-]*"
    wrong = [line for line in lines if not re.fullmatch(rf"[a-z0-9-]+ {name}(\|{name})*", line)]
    tap.equal(wrong, [], "lines of another form")


tap.run(globals())
