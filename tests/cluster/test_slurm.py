# SPDX-License-Identifier: Apache-2.0
"""Workers that a real Slurm places, as docs/scale.md says: slurmctld with two slurmd, jobs of an ordinary user, and that user's gateway.
By hand: scripts/check-cluster test_slurm"""
import contextlib
import os
import pathlib
import re
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scale_page import User, commands, install

DIRECTORY = os.environ.get("CODE_EXECUTE_TEST_SLURM")
if not DIRECTORY:
    tap.skip_all("no Slurm (scripts/with-slurm)")

RESEARCHER = "64998"
PATIENCE = 120
HOME = pathlib.Path(DIRECTORY, "researcher")
HOME.mkdir(mode=0o700)
os.chown(HOME, int(RESEARCHER), int(RESEARCHER))
install()
user = User(HOME, ["setpriv", "--reuid", RESEARCHER, "--regid", RESEARCHER, "--clear-groups"])
PLACE = HOME / "workers"
user.do(commands("An authority")[0])
PREPARE, SUBMIT, CALL = commands("Jobs of Slurm")
user.do(PREPARE)


def workers():
    """The list that the policy names: {job: address}"""
    text = (PLACE / "workers").read_text() if (PLACE / "workers").exists() else ""
    return {line.split()[-1]: line.split()[1] for line in text.splitlines()}


def jobs():
    return user.do("squeue --noheader --format=%i").split()


def printed():
    return "\n".join(path.read_text() for path in sorted(PLACE.glob("slurm-*.out")))


def until(condition, what):
    tap.eventually(condition, f"{what}; jobs {jobs()}, workers {workers()}, they say:\n{printed()}", PATIENCE)


@contextlib.contextmanager
def two_workers():
    """Jobs that are the case's own: by their names."""
    user.do(SUBMIT)
    try:
        until(lambda: len(workers()) == 2, "two workers are on the list")
        yield sorted(workers())
    finally:
        user.do("scancel --user researcher")
        until(lambda: not jobs() and not workers(), "jobs and lines have gone")


def job_of_run(run):
    """The one whose worker has a run under way, as `toolhost status` tells it."""
    busy = []

    def is_one():
        status = user.do("toolhost --policy ~/workers/policy.json status")
        listed = dict(re.findall(r"usable +worker\.example: ([\d.:]+), mode process, (\d+) of 4 runs", status))
        busy[:] = [job for job, address in workers().items() if listed.get(address, "0") != "0"]
        return len(busy) == 1 or run.poll() is not None
    until(is_one, "one worker has the run")
    tap.equal(run.poll(), None, f"its run; workers with one: {busy}")
    return busy[0]


def completed():
    """The job that a call ran in."""
    result = user.call("print(2**64)")
    tap.equal((result["status"], result["error"], result["stdout"]), ("completed", None, "18446744073709551616\n"), result)
    return result["isolation"]["details"]["worker"].removeprefix("job-")


def test_the_page():
    with two_workers() as names:
        nodes = user.do("squeue --noheader --format=%N").split()
        tap.equal(sorted(nodes), ["node-1", "node-2"], "one on each node")
        said = user.do(CALL)
        tap.equal(len(re.findall(r"^  usable  worker\.example: 10\.79\.0\.[12]:\d+, mode process", said, re.M)), 2, said)
        tap.contains(said, "18446744073709551616")
        until(lambda: completed() == names[0], "one of them is used")
        until(lambda: completed() == names[1], "the other is used")


def test_a_job_that_is_told_to_end_lets_its_run_end():
    with two_workers() as names:
        run = user.begin(20)
        job = job_of_run(run)
        user.do(f"scancel --batch --signal=TERM {job}")
        until(lambda: job not in workers(), "its line goes")
        tap.equal(run.poll(), None, "its run goes on")
        [other] = set(names) - {job}
        tap.equal(completed(), other, "another call has the other worker")
        tap.equal((*run.communicate(), run.returncode), ("to its end\n", "", 0), "its end")
        until(lambda: jobs() == [other], "the job has ended")


def test_a_job_that_is_cancelled_in_mid_run():
    with two_workers() as names:
        run = user.begin(3600)
        job = job_of_run(run)
        user.do(f"scancel {job}")
        tap.contains(run.communicate()[1], "worker_lost")
        [other] = set(names) - {job}
        for _ in range(5):
            tap.equal(completed(), other)
        until(lambda: list(workers()) == [other] and jobs() == [other], "the job and its line have gone")


def test_the_line_of_a_job_that_was_lost_goes_with_the_next():
    (PLACE / "workers").write_text("worker.example 10.79.0.1:1 # job 77_1\n")
    with two_workers() as names:
        tap.lacks(names, "77_1")
        completed()


def test_a_job_fails_where_a_node_lacks_what_runs_need():
    before = (PLACE / "worker.json").read_text()
    (PLACE / "worker.json").write_text(before.replace('"mode": "process"', '"mode": "process", "require": ["cgroup"]'))
    try:
        tap.true("require" in (PLACE / "worker.json").read_text(), "the configuration is another")
        job = user.do(SUBMIT).split()[-1]
        until(lambda: not jobs(), "the jobs end by themselves")
        tap.equal(workers(), {}, "no worker is listed")
        for task in (1, 2):
            said = (PLACE / f"slurm-{job}_{task}.out").read_text()
            tap.contains(said, "layer cgroup cannot be had")
            tap.contains(said, "The worker cannot serve runs.")
            tap.contains(user.do(f"scontrol show job {job}_{task} --oneliner"), "JobState=FAILED")
    finally:
        (PLACE / "worker.json").write_text(before)


tap.run(globals())
