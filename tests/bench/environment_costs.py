# SPDX-License-Identifier: Apache-2.0
"""What environments cost: a run with pandas from one beside a bare interpreter that imports it from the same files, what naming one adds to
a call, and a build beside pip's own time from the same directory of wheels. The wheels are of PyPI, kept between runs outside of the repository."""
import hashlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from gateway import PROVIDER, Absent, Gateway

PYTHON = "/usr/bin/python3"
PACKAGES = ("pandas", "numpy", "matplotlib")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "code-execute-bench"
EXPECTED = {"expect": "3\n", "budget_ms": 60000}
CODE = "import pandas; print(pandas.Series([1, 2]).sum())"
PLAIN = "print(3)"
LIMITS = {"wall_ms": {"default": 60000, "max": 60000}, "memory_bytes": {"default": 1 << 29, "max": 1 << 30}}
BUILDS = 2
REFILL_MS = 1500  # in which another interpreter has imported its modules, on a machine that has other things to do


def pip(*words):
    return subprocess.run([PYTHON, "-I", "-m", "pip", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")})


def wheels():
    """The directory of them, for this interpreter."""
    version = pip("--version")
    if version.returncode != 0:
        raise Absent(f"{PYTHON} has no pip")
    tag = subprocess.run([PYTHON, "-c", "import sys, platform; print(sys.implementation.cache_tag, platform.machine(), sep='-')"],
                         capture_output=True, text=True, check=True).stdout.strip()
    directory = CACHE / f"wheels-{tag}"
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        done = pip("download", "--quiet", "--only-binary=:all:", "--dest", directory, *PACKAGES)
        if done.returncode != 0:
            raise Absent("PyPI cannot be reached, or has no wheels for this interpreter")
        (directory / "complete").touch()
    return directory


def lock_of(directory):
    """A lock file with the hash of each of them."""
    lines = []
    for wheel in sorted(directory.glob("*.whl")):
        name, version = re.match(r"([^-]+)-([^-]+)-", wheel.name).groups()
        lines.append(f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return "".join(lines)


class Place:
    """The files of a measurement, gone with it; below a directory on a disk, as those of an operator."""

    def __init__(self, directory):
        self.path, self.wheels = pathlib.Path(directory), wheels()
        self.lock, self.all = self.path / "data.lock", self.path / "all"
        self.lock.write_text(lock_of(self.wheels))
        # What is shown to a sandbox must be reachable; a home directory may not be.
        self.shown = pathlib.Path(shutil.copytree(self.wheels, self.path / "wheels", ignore=shutil.ignore_patterns("complete")))

    def policy(self):
        return {"environments_directory": str(self.all), "limits": LIMITS, "pools": {"process": {"ready": 3, "idle_ms": 60000, "memory_bytes": 1 << 30}},
                "environments": {"data": {"language": "python", "lock": str(self.lock), "wheelhouse": str(self.shown), "prepare": ["numpy", "pandas"]}}}


def build_once(gateway):
    began = time.monotonic()
    error = gateway.order("prepare", configuration={"environments": {"action": "build", "name": "data"}})["error"]
    if error is not None:
        raise Absent(f"the environment is not built: {error['message']}")
    return time.monotonic() - began


def pip_once(place):
    target = place.path / "of-pip"
    shutil.rmtree(target, ignore_errors=True)
    began = time.monotonic()
    done = pip("install", "--isolated", "--quiet", "--no-index", "--find-links", place.shown, "--require-hashes", "--only-binary=:all:",
               "--disable-pip-version-check", "--no-cache-dir", "--root-user-action=ignore", "--target", target, "--requirement", place.lock)
    if done.returncode != 0:
        raise Absent(f"pip failed: {done.stderr[-200:]}")
    return time.monotonic() - began


def build_anew(place, gateway):
    """As the first build: nothing of the content is there yet."""
    subprocess.run(["chmod", "-R", "u+w", place.all], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(place.all, ignore_errors=True)
    return build_once(gateway)


def compare_builds(place, gateway):
    """In turn, with all that was written before on the disk already."""
    times = {"ours": [], "pip": []}
    for number in range(BUILDS + 1):
        for name, once in (("ours", lambda: build_anew(place, gateway)), ("pip", lambda: pip_once(place))):
            os.sync()
            seconds = once()
            if number > 0:
                times[name].append(seconds)
    ours, own = (statistics.median(times[name]) for name in ("ours", "pip"))
    return {"seconds": ours, "pip_seconds": own, "ratio": statistics.median(a / b for a, b in zip(times["ours"], times["pip"])), "runs": times}


def medians(told):
    if told["reason"]:
        raise Absent(told["reason"])
    return {name: statistics.median(times) for name, times in told["runs_ms"].items()}


def compare_runs(place, gateway):
    [content] = place.all.glob("sha256-*/content")
    bare = {"name": "bare", "argv": [PYTHON, "-c", f"import sys; sys.path.insert(0, {str(content)!r}); {CODE}"]}
    pandas = {"name": "pandas", "request": {"language": "python", "code": CODE, "packages": "data"}}
    named = {"name": "named", "request": {"language": "python", "code": PLAIN, "packages": "data"}}
    plain = {"name": "plain", "request": {"language": "python", "code": PLAIN}}
    took = medians(gateway.contest([pandas, bare, named, plain], rounds=12, warm_up=3, pause_ms=REFILL_MS, **EXPECTED))
    return {"run_ms": took["pandas"], "bare_ms": took["bare"], "ratio": took["pandas"] / took["bare"],
            "plain_ms": took["plain"], "added_ms": took["named"] - took["plain"]}


def environments():
    if not pathlib.Path(PROVIDER).with_name("code-execute-environment").exists():
        raise Absent("the program that installs environments is not built here")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="code-execute-bench-") as directory, Gateway() as gateway:
        pathlib.Path(directory).chmod(0o755)
        place = Place(directory)
        gateway.use_policy(place.policy())
        try:
            built = compare_builds(place, gateway)
            return {"build": built, "run": compare_runs(place, gateway), "bytes": sum(wheel.stat().st_size for wheel in place.shown.iterdir())}
        finally:
            subprocess.run(["chmod", "-R", "u+w", directory], check=False)


def lines(told):
    if "environments" not in told:
        return []
    run, built = told["environments"]["run"], told["environments"]["build"]
    return [f"environments: a run with pandas takes {run['run_ms']:.1f} ms, {run['ratio']:.3f} of a bare interpreter's import ({run['bare_ms']:.0f} ms)",
            f"environments: naming one adds {run['added_ms']:.2f} ms to a call of {run['plain_ms']:.1f} ms",
            f"environments: a build takes {built['seconds']:.1f} s, {built['ratio']:.2f} of pip's own time ({built['pip_seconds']:.1f} s)"]
