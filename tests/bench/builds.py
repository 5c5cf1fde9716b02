# SPDX-License-Identifier: Apache-2.0
"""The build that is measured: what scripts/bench adds to a directory that scripts/quickstart or somebody else has configured."""
import json
import subprocess

from gateway import ROOT

PROGRAMS = ("bench_gateway", "bench_copy", "bench_redaction")


def missing(directory):
    """The first of the bench's programs that is not built there; None: they are there."""
    return next((path for name in PROGRAMS if not (path := directory / "tests" / "bench" / name).exists()), None)


def has_programs(directory):
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", str(directory)], check=True, stdout=subprocess.PIPE).stdout)
    return any(option["value"] is True for option in options if option["name"] in ("tests", "bench"))


def make(directory):
    """Builds what is measured, configured with the bench's programs where it was not. The test programs, which take more packages, are left out."""
    if not (directory / "build.ninja").exists():
        subprocess.run(["meson", "setup", "-Dtests=false", "-Dbench=true", str(directory), str(ROOT)], check=True, stdout=subprocess.DEVNULL)
    elif not has_programs(directory):
        # Not "meson configure", which knows only the options of the time when the directory was made.
        subprocess.run(["meson", "setup", "--reconfigure", "-Dbench=true", str(directory), str(ROOT)], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["meson", "compile", "-C", str(directory), "measured"], check=True, stdout=subprocess.DEVNULL)
