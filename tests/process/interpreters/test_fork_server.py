# SPDX-License-Identifier: Apache-2.0
"""Python as copies of one that has run nothing: what copies share (an address layout, a hash seed, both of no use to anybody else), what
they do not, when the original is replaced, and what runs when it is not to be had."""
import os
import pathlib
import signal
import sys
import threading

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path[:0] = [str(SUPPORT), str(pathlib.Path(__file__).parents[2] / "faults")]
import common
import tap
from modes import Provider, interpreter_waits, is_interpreter
from provider import OK, Host

READY = 3
provider = Provider()
GRANTED = ("sandbox.exec", "sandbox.exec.secrets")


def use(ready=READY, prepare=None, **more):
    provider.reset()
    languages = {"python": {"prepare": prepare}} if prepare else {}
    tap.equal(provider.use_policy({"pools": {"process": {"ready": ready, "most": 0}}, "languages": languages, **more}), OK)


def run(code="print('hi')", host=None, **more):
    status, result = provider.invoke({"language": "python", "code": code, **more}, host or Host(GRANTED))
    tap.equal((status, result["error"]), (OK, None), result)
    return result


def supervisor():
    [pid] = common.supervisors_of(os.getpid())
    return pid


def originals():
    """Interpreters that are no pid 1 of a namespace: the ones that copies are made of."""
    return [pid for pid in common.children(supervisor()) if is_interpreter(pid) and len(namespace_pids(pid)) == 1]


def namespace_pids(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].split("\n")[0].split()
    except OSError:
        return []


def waiting():
    """The programs-to-be, each in a sandbox; what the original has for a moment as it gets ready, such as the child of a rehearsal, is in none."""
    return [child for pid in common.children(supervisor()) for child in common.children(pid)
            if interpreter_waits(child) and len(namespace_pids(child)) > 1]


def is_copy(pid):
    return b"CODE_EXECUTE_INTERPRETER=copy" in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def await_ready(count=READY):
    tap.eventually(lambda: len(waiting()) == count, f"{count} wait", 20)
    return waiting()


def ready_run(code, **more):
    await_ready()
    before = provider.counters()["sandboxes_ready"]
    result = run(code, **more)
    tap.equal(provider.counters()["sandboxes_ready"] - before, 1, "it was ready")
    return result


def test_they_are_copies_of_one():
    use()
    run()
    await_ready()
    tap.equal(len(originals()), 1, "one original")
    layouts = {pathlib.Path(f"/proc/{pid}/maps").read_text().split(" ", 1)[0] for pid in [*originals(), *waiting()]} if os.geteuid() == 0 else {1}
    tap.equal(len(layouts), 1, "whose address layout they share")
    seeds = {ready_run("print(hash('x'))")["stdout"] for _ in range(2)}
    tap.equal(len(seeds), 1, "and its hash seed: policies can renew it, or do without copies")


def test_a_copy_that_waits_holds_what_a_run_writes_to():
    if os.geteuid() != 0:
        raise tap.Skip("another user's memory takes root to look at")
    use()
    run()
    for pid in await_ready():
        of_its_own = int(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().split("Private_Dirty:")[1].split()[0])
        tap.true(of_its_own <= 3584, f"{of_its_own} KiB, as the rehearsal has told; without one it would be all that is writable")


def faults(stat):
    return int(stat.rpartition(")")[2].split()[7])  # proc_pid_stat(5), minflt


def test_a_run_writes_to_little_else():
    if os.geteuid() != 0:
        raise tap.Skip("another user's process takes root to look at")
    use()
    run()
    counts = []
    for _ in range(8):  # a kernel that takes pages back from whoever waits makes some runs fault for them
        before = min(faults(pathlib.Path(f"/proc/{pid}/stat").read_text()) for pid in await_ready())
        result = ready_run("class Thing:\n    pass\nprint(open('/proc/self/stat').read())")
        counts.append(faults(result["stdout"]) - before)
    tap.true(0 < min(counts) <= 60, f"{counts} page faults from its waiting to its last line; each is more than 100 without a rehearsal of the whole way")


def test_each_copy_draws_other_random_numbers():
    use()
    run()
    drawn = {ready_run("import os, random, secrets, tempfile, uuid\nprint(random.random(), random.Random().random(), os.urandom(4), secrets.token_hex(4), uuid.uuid4(), tempfile.mktemp())")["stdout"]
             for _ in range(4)}
    single = [set(column) for column in zip(*(line.split() for line in drawn))]
    tap.equal([len(column) for column in single], [4] * len(single), "each of them, in each run")


def test_nothing_of_a_run_is_in_any_other():
    use(secrets={"allowed": ["KEY"]})
    run()
    # A pattern does not match itself.
    look = ("import os, re\nfound, pattern = [], re.compile(b'the-secret-of-[t]his-run')\n"
            "memory = os.open('/proc/self/mem', os.O_RDONLY)\n"
            "for line in open('/proc/self/maps'):\n"
            "    start, end, rights = re.match(r'(\\w+)-(\\w+) (\\S+)', line).groups()\n"
            "    if rights[0] != 'r' or '[v' in line: continue\n"
            "    try: found += [line] if pattern.search(os.pread(memory, int(end, 16) - int(start, 16), int(start, 16))) else []\n"
            "    except OSError: pass\n"
            "print(len(found) > 0, 'KEY' in os.environ)\n")
    host = Host(GRANTED, secrets={"KEY": b"the-secret-of-this-run"})
    await_ready()
    for _ in range(READY + 1):
        tap.equal(ready_run(look, host=host, secrets={"KEY": "{{secret:KEY}}"})["stdout"], "True True\n", "the look finds what is there")
        tap.equal(ready_run(look)["stdout"], "False False\n", "and nobody else's")


def test_no_copy_reaches_another_or_the_original():
    use()
    run()
    ready = await_ready()
    result = ready_run("import os, signal\nseen = [p for p in os.listdir('/proc') if p.isdigit()]\n"
                       f"reached = []\nfor pid in {[*ready, *originals(), supervisor()]!r}:\n"
                       "    try: os.kill(pid, signal.SIGKILL); reached.append(pid)\n    except ProcessLookupError: pass\n"
                       "print(sorted(seen), reached, [fd for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd)])")
    tap.equal(result["stdout"], "['2'] [] ['0', '1', '2', '63']\n", "itself, nobody, its streams")
    tap.true(set(ready[1:]) <= set(waiting()), "the others wait on")


def test_the_original_is_replaced_after_so_many_copies():
    use(prepare={"renew_runs": READY + 1})
    run()
    await_ready()
    seeds = set()

    def another():
        seeds.add(ready_run("print(hash('x'))")["stdout"])
        return len(seeds) >= 2
    tap.eventually(another, "another seed: the next original is ready some time after the former one's last run", 60)
    tap.eventually(lambda: len(originals()) == 1, "one at a time", 10)


def test_the_original_is_replaced_after_a_time():
    use(prepare={"renew_ms": 1000})
    run()
    await_ready()
    first = set(originals())  # two, for a moment, where the time is up just now
    tap.true(first, "an original")
    tap.eventually(lambda: originals() and first.isdisjoint(originals()), "another one", 20)
    tap.equal(ready_run("print(1)")["stdout"], "1\n")


def test_without_copying_each_is_started():
    use(prepare={"fork": False})
    run()
    await_ready()
    tap.equal(originals(), [], "no original")
    seeds = {ready_run("print(hash('x'))")["stdout"] for _ in range(READY)}
    tap.equal(len(seeds), READY, "each has its own seed")


def test_an_original_that_dies_is_replaced():
    use()
    run()
    await_ready()
    [first] = originals()
    os.kill(first, signal.SIGKILL)
    tap.equal(run("print(1)")["stdout"], "1\n")
    tap.eventually(lambda: len(originals()) == 1 and originals() != [first], "another one", 20)
    tap.equal(ready_run("print(2)")["stdout"], "2\n")


def test_a_stopped_original_holds_nobody_up():
    use(ready=1)
    run()
    # The first that waits was started for it; there is a copy once the original is itself ready.
    tap.eventually(lambda: is_copy(await_ready(1)[0]) or not run(), "a copy waits", 20)
    [first] = originals()
    os.kill(first, signal.SIGSTOP)
    for number in range(3):
        tap.equal(run(f"print({number})")["stdout"], f"{number}\n")
    tap.eventually(lambda: first not in originals(), "it is given up", 20)


def test_modules_that_are_not_there_are_the_program_s_to_miss():
    use(prepare={"import": ["no_such_module", "json", "this.is.none"]})
    run()
    tap.equal(ready_run("import sys; print('json' in sys.modules, 'no_such_module' in sys.modules)\ntry:\n    import no_such_module\nexcept ImportError as error:\n    print(error)")["stdout"],
              "True False\nNo module named 'no_such_module'\n")


def test_imports_come_from_the_policy():
    use(prepare={"import": ["html.parser"]})
    run()
    tap.equal(ready_run("import sys; print('html.parser' in sys.modules, 'json' in sys.modules)")["stdout"], "True False\n")


def test_variables_that_come_too_late_start_an_interpreter():
    use()
    run()
    await_ready()
    before = provider.counters()["sandboxes_copied"]
    outputs = {run("import os, sys; print(hash('x'), os.environ['PYTHONHASHSEED'], sys.flags.hash_randomization)", env={"PYTHONHASHSEED": "0"})["stdout"] for _ in range(2)}
    tap.equal(len(outputs), 1, "the program's own seed")
    tap.equal(provider.counters()["sandboxes_copied"], before)
    tap.equal(ready_run("import os; print(os.environ['HARMLESS'])", env={"HARMLESS": "1"})["stdout"], "1\n", "others do not matter")


def test_the_policy_s_own_variables_hold():
    code = "import os, sys; print(os.environ.get('PYTHONPATH'), '/usr/share' in sys.path, sys.path[1], os.environ['HOME'])"
    variables = {"PYTHONPATH": "/usr/share:/usr/lib", "HOME": "/home/sandbox", "PYTHONUNBUFFERED": "1"}
    for fork in (True, False):
        provider.reset()
        python = {"environment": variables, "prepare": {"fork": fork}}
        tap.equal(provider.use_policy({"pools": {"process": {"ready": 0}}, "languages": {"python": python}}), OK)
        plain = run(code)["stdout"]
        tap.equal(provider.use_policy({"pools": {"process": {"ready": READY, "most": 0}}, "languages": {"python": python}}), OK)
        run()
        tap.equal(ready_run(code)["stdout"], plain)


def test_an_interpreter_with_options_is_started_with_its_program():
    provider.reset()
    tap.equal(provider.use_policy({"pools": {"process": {"ready": READY, "most": 0}}, "languages": {"python": {"argv": ["python3", "-I", "{file}"]}}}), OK)
    before = provider.counters()["sandboxes_copied"]
    for _ in range(3):
        tap.equal(run("import sys; print(sys.flags.isolated)")["stdout"], "1\n")
    tap.equal((provider.counters()["sandboxes_copied"] - before, originals(), waiting()), (0, [], []))


def test_more_at_once_than_are_ready_are_copied():
    use()
    run()
    await_ready()
    before, outputs = provider.counters(), []
    threads = [threading.Thread(target=lambda n=n: outputs.append(run(f"import time; time.sleep(0.3); print({n})")["stdout"])) for n in range(8 * READY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = provider.counters()
    tap.equal(sorted(map(int, outputs)), list(range(8 * READY)))
    tap.true(after["sandboxes_copied"] > before["sandboxes_copied"], "of the original, at once")
    tap.equal(after["sandboxes_new"], before["sandboxes_new"], "none was started")


def test_layers_are_those_of_every_sandbox():
    use(0)
    plain = run("print(1)")["isolation"]
    use()
    run()
    await_ready()
    tap.equal(ready_run("print(1)")["isolation"]["applied"], plain["applied"])


tap.run(globals())
