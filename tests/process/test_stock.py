# SPDX-License-Identifier: Apache-2.0
"""What the supervisor makes ahead of sandboxes without pools, network namespaces and control groups: each serves one sandbox, and
the supervisor stays where it is."""
import os
import pathlib
import sys

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
FAULTS = pathlib.Path(__file__).parents[1] / "faults"
sys.path[:0] = [str(SUPPORT), str(FAULTS)]
import common
import tap
from modes import Provider
from provider import OK, Host

STOCK = 4
NETWORK = "import os; print(os.stat('/proc/self/ns/net').st_ino)"
provider = Provider()


def use():
    provider.reset()
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 0}}}), OK)


def network_of_a_run():
    status, result = provider.invoke({"language": "python", "code": NETWORK}, Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return int(result["stdout"])


def supervisor():
    [pid] = common.supervisors_of(os.getpid())
    return pid


def network_of(pid):
    return os.stat(f"/proc/{pid}/ns/net").st_ino


def networks_in_stock():
    found = set()
    for fd in pathlib.Path(f"/proc/{supervisor()}/fd").iterdir():
        try:
            if os.readlink(fd).startswith("net:"):
                found.add(fd.stat().st_ino)
        except FileNotFoundError:
            continue  # closed meanwhile
    return found - {network_of(os.getpid())}


def groups():
    """Of this supervisor, with what is in them."""
    return {group: (group / "cgroup.procs").read_text() for folder in common.bases(supervisor()) for group in pathlib.Path(folder).iterdir() if group.is_dir()}


def await_stock():
    wanted = STOCK if os.geteuid() == 0 else 0
    tap.eventually(lambda: len(networks_in_stock()) == wanted, f"{wanted} networks in stock", 10)
    return networks_in_stock()


def test_a_network_of_the_stock_serves_once():
    if os.geteuid() != 0:
        raise tap.Skip("only root may enter another's network namespace")
    use()
    network_of_a_run()
    stock = await_stock()
    for _ in range(STOCK + 2):
        network = network_of_a_run()
        tap.true(network in stock, "made ahead")
        tap.true(network not in networks_in_stock(), "and not kept for another")
        tap.true(network != network_of(os.getpid()), "not the host's")
        stock = await_stock()


def test_the_supervisor_stays_in_its_network():
    use()
    network_of_a_run()
    await_stock()
    network_of_a_run()
    await_stock()  # for each of which it is in another one for a moment
    tap.equal(network_of(supervisor()), network_of(os.getpid()), "the host's")


def test_groups_of_the_stock_are_used_and_empty():
    use()
    network_of_a_run()
    kinds = len(common.bases(supervisor()))
    if not kinds:
        raise tap.Skip("no control groups can be made here")
    tap.eventually(lambda: len(groups()) == kinds * STOCK, "as many groups as the stock has, of each kind", 10)
    before = groups()
    tap.equal(set(before.values()), {""}, "nobody is in them")
    network_of_a_run()
    tap.eventually(lambda: len(groups()) == kinds * STOCK and set(groups()) != set(before), "one was used and one was made", 10)
    tap.equal(len(set(before) - set(groups())), kinds, "one of each kind")


def test_the_stock_ends_with_the_backend():
    use()
    network_of_a_run()
    await_stock()
    pid = supervisor()
    made = {path: common.identity(path) for path in common.bases(pid)}
    provider.reset()
    tap.eventually(lambda: not common.alive(pid), "the supervisor ends", 10)
    tap.equal([path for path, identity in made.items() if common.identity(path) == identity], [], "with its groups")


tap.run(globals())
