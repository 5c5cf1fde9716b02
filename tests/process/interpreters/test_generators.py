# SPDX-License-Identifier: Apache-2.0
"""Generators of random numbers that modules have made while they were imported: each copy of an interpreter has numbers of its own, but
of those that were seeded on purpose. What an interpreter that was started for its run does is the control."""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from languages.waiting import COPIED, STARTED
from modes import Provider
from provider import OK, Host

RUNS = 3
provider = Provider()


def use(fork, modules):
    provider.reset()
    python = {"prepare": {"fork": fork, "import": modules, **waiting.ASKED_FOR_NONE}, "environment": {"PYTHONPATH": DIRECTORY}, "read_only": [DIRECTORY]}
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 1, "most": 0}}, "languages": {"python": python}}), OK)
    run("0")


def run(code):
    status, result = provider.invoke({"language": "python", "code": code}, Host())
    tap.equal((status, result["error"], result["stderr"]), (OK, None, ""), result)
    return result["stdout"].strip()


def draw(code, how):
    """What that many runs print, each in an interpreter that waited."""
    return [waiting.ready_run(provider, lambda: run(code), 1, how) for _ in range(RUNS)]


def compare(text, *expressions, alike, modules=()):
    """Of a module with that text each expression is drawn in several runs: all alike, or all different."""
    pathlib.Path(DIRECTORY, "made.py").write_text(text)
    code = f"import sys\nassert 'made' in sys.modules\nimport made\nprint({', '.join(f'repr({e})' for e in expressions)}, sep='|')"
    for fork, how in (True, COPIED), (False, STARTED):
        use(fork, [*modules, "made"])
        for expression, column in zip(expressions, zip(*(line.split("|") for line in draw(code, how)))):
            tap.equal(len(set(column)), 1 if alike else RUNS, f"{how}: {expression}: {column}")


def with_numpy():
    use(False, [])
    if run("import importlib.util; print(importlib.util.find_spec('numpy') is not None)") != "True":
        raise tap.Skip("numpy is not installed (Debian: python3-numpy)")


def test_python_s_own():
    compare("import random\none = random.Random()\nmany = {'deep': [random.Random() for _ in range(3)]}\n",
            "made.one.random()", "made.many['deep'][1].random()", "made.random.random()", "made.one.gauss(0, 1)", alike=False)


def test_one_of_a_class_of_its_own():
    compare("import random\nclass Dice(random.Random):\n    __slots__ = ()\n    def roll(self): return self.getrandbits(64)\none = Dice()\n",
            "made.one.roll()", alike=False)


def test_python_s_own_that_was_seeded_on_purpose():
    compare("import random\none = random.Random(0)\none.random()\nrandom.seed(5)\n",
            "made.one.random()", "made.random.random()", alike=True)


def test_numpy_s():
    with_numpy()
    compare("import numpy\nfrom numpy import random\none = random.default_rng()\nlegacy = random.RandomState()\nlegacy.randn()\n"
            "kinds = [random.Generator(kind()) for kind in (random.MT19937, random.Philox, random.SFC64)]\nsequence = random.SeedSequence()\n",
            "made.one.random()", "made.legacy.randn()", "made.random.rand()", "made.kinds[0].random()", "made.kinds[1].random()", "made.kinds[2].random()",
            "made.random.default_rng(made.sequence).random()", "made.random.default_rng(made.one.bit_generator._seed_seq.spawn(1)[0]).random()", alike=False)


def test_numpy_s_that_were_seeded_on_purpose():
    with_numpy()
    compare("from numpy import random\none = random.default_rng(0)\nlegacy = random.RandomState(7)\nlegacy.randn()\nrandom.seed(3)\nsequence = random.SeedSequence(9)\n",
            "made.one.random()", "made.legacy.randn()", "made.random.rand()", "made.random.default_rng(made.sequence).random()", alike=True)


def test_the_key_between_processes():
    compare("import multiprocessing\n", "made.multiprocessing.current_process().authkey", "bytes(made.multiprocessing.process.current_process()._config['authkey'])", alike=False)


def test_libraries_draw_other_numbers_in_each_copy():
    compare("import secrets, ssl, tempfile, uuid\nssl.RAND_bytes(8)\nuuid.uuid1()\nnext(tempfile._get_candidate_names())\n",
            "made.ssl.RAND_bytes(8)", "made.secrets.token_hex(8)", "made.uuid.uuid1().int", "made.uuid.uuid4().int", "next(made.tempfile._get_candidate_names())", alike=False)


def test_a_module_whose_generator_cannot_be_seeded_is_left_out():
    """What is left is still copied, and the program's own import finds it."""
    pathlib.Path(DIRECTORY, "stuck.py").write_text("import random\nclass Stuck(random.Random):\n    done = False\n    def seed(self, *a):\n"
                                                 "        if not self.done:\n            super().seed()\n        self.done = True\none = Stuck()\n")
    pathlib.Path(DIRECTORY, "silent.py").write_text("import random\nclass Silent(random.Random):\n    def getstate(self): raise RuntimeError\none = Silent()\n")
    use(True, ["json", "stuck", "silent", "html"])
    drawn = draw("import sys\nahead = [name for name in ('json', 'stuck', 'silent', 'html') if name in sys.modules]\n"
                 "import stuck, silent\nprint(ahead, stuck.one.random(), silent.one.random())", COPIED)
    tap.equal({line.split("]")[0] for line in drawn}, {"['json', 'html'"}, drawn)
    waiting.expect_told(provider, "copied", "generators_not_seeded", ": silent,stuck")
    tap.equal(len(set(drawn)), RUNS, drawn)


def test_why_there_are_no_copies_is_told():
    pathlib.Path(DIRECTORY, "thread.py").write_text("import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n")
    use(True, ["json", "thread"])
    waiting.expect_told(provider, "started_ahead", "more_than_one_thread")
    use(True, ["json", "random"])
    tap.equal(waiting.told(provider)["code"], "copied")
    use(False, ["json"])
    waiting.expect_told(provider, "started_ahead", "fork_off", '"fork": false')


def test_nothing_is_left_of_the_search():
    seen = set()
    for fork, how in (True, COPIED), (False, STARTED):
        use(fork, ["json", "random"])
        seen |= set(draw("import sys; print(sorted(set(sys.modules) - {'gc'}), [str(finder).split(' at ')[0] for finder in sys.meta_path])", how))
    tap.equal(len(seen), 1, seen)


if os.geteuid() != 0:
    tap.skip_all("takes root to have root's files")
with tempfile.TemporaryDirectory(prefix="generators-", dir="/var/lib") as DIRECTORY:
    pathlib.Path(DIRECTORY).chmod(0o755)
    tap.run(globals())
