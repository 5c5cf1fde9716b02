# SPDX-License-Identifier: Apache-2.0
"""The supervisor's own directories among the control groups: a dead one's are removed, what others have named alike is not, and
supervisors with the same pid in namespaces of their own both have one."""
import contextlib
import os
import pathlib
import re
import sys

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
FAULTS = pathlib.Path(__file__).parents[1] / "faults"
sys.path[:0] = [str(SUPPORT), str(FAULTS)]
import common
import tap
from modes import Provider, gateway
from provider import OK, Host

NOBODY = 4194305 + os.getpid()  # more than the highest pid that there can be (proc(5), pid_max), and nobody else's name
DEAD = (f"code-execute-{NOBODY}", f"code-execute-{NOBODY}.7")
OTHERS = ("code-execute-engine-5f0c", "code-execute-", f"code-execute-{NOBODY}.", f"code-execute-{NOBODY}x", f"code-execute-{NOBODY}.7x",
          f"code-execute-{NOBODY}.service", f"gateway-code-execute-{NOBODY}")
provider = Provider()


def run():
    """The layers of a run, in a backend that was started for it."""
    provider.reset()
    status, result = provider.invoke({"language": "sh", "code": "true"}, Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return result["isolation"]


def parents():
    """Where this test's supervisor has its directories, one for each hierarchy."""
    run()
    [pid] = common.supervisors_of(os.getpid())
    found = [pathlib.Path(group).parent for group in common.bases(pid)]
    if not found:
        raise tap.Skip("no control groups can be made here")
    return found


def make(group):
    """Any gateway that starts sweeps what a dead one seems to have left; between making the parent and its child, too."""
    try:
        group.mkdir(parents=True)
        return True
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def groups(parent, names):
    """Each with an empty group below it, as an engine's before its first process."""
    made = [parent / name / "child" for name in names]
    try:
        for group in made:
            tap.true(tap.within(lambda: make(group), 10), f"{group} is made")
        yield made
    finally:
        for group in made:
            for path in (group, group.parent):
                with contextlib.suppress(FileNotFoundError):
                    path.rmdir()


def test_only_what_supervisors_left_is_swept():
    for parent in parents():
        with groups(parent, OTHERS) as others, groups(parent, DEAD) as dead:
            run()
            tap.equal([group for group in dead if group.parent.exists()], [], "positive control: dead supervisors' are removed")
            tap.equal([group for group in others if not group.exists()], [], "others' are not touched")


def own_number(pid):
    """As the process itself knows it: proc_pid_status(5), NSpid."""
    return pathlib.Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].split("\n")[0].split()[-1]


def test_supervisors_with_the_same_pid_have_groups():
    if os.geteuid() != 0:
        raise tap.Skip("a pid namespace takes root")
    places, hosts, numbers, made = len(parents()), [], set(), []
    try:
        for _ in range(2):
            hosts.append(gateway("status, result = Provider().invoke({'language': 'sh', 'code': 'true'}, Host())\n"
                                 "print(json.dumps(result['isolation']['missing']), flush=True); sys.stdin.read()",
                                 before=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"), stdin=-1))
            tap.equal(hosts[-1].stdout.readline(), "[]\n", "every layer, control groups among them")
            [namespace] = common.children(hosts[-1].pid)
            [supervisor] = common.supervisors_of(namespace)
            numbers.add(own_number(supervisor))
            made += [(path, common.identity(path)) for path in common.bases(supervisor)]
        [number] = numbers  # positive control: both have one pid
        tap.equal(len({path for path, _ in made}), 2 * places, f"each has directories of its own: {made}")
        wrong = [path for path, _ in made if not re.fullmatch(rf"code-execute-{number}(\.\d+)?", pathlib.Path(path).name)]
        tap.equal(wrong, [], "named by the pid")
    finally:
        for host in hosts:
            host.stdin.close()
            host.wait()
    tap.eventually(lambda: not [path for path, identity in made if common.identity(path) == identity], "they end with their directories", 10)


tap.run(globals())
