# SPDX-License-Identifier: Apache-2.0
"""The distribution's numpy, pandas and matplotlib under the shipped policy, with nothing configured."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from languages.waiting import COPIED, STARTED
from modes import Provider
from provider import OK, Host

MODULES = ("numpy", "pandas", "matplotlib")
GRANTED = ("sandbox.exec", "sandbox.exec.limits.extended")
provider = Provider()

PLOT = """import matplotlib.pyplot as plt
import numpy
import pandas
frame = pandas.DataFrame({"x": range(10), "square": numpy.arange(10) ** 2})
frame.plot(x="x", y="square", title="squares")
plt.savefig("plot.png")
image = plt.imread("plot.png")
print(open("plot.png", "rb").read(8), image.shape[2], bool((image[:, :, :3] < 0.5).any()))
"""


def run(code, **more):
    status, result = provider.invoke({"language": "python", "code": code, "timeout_ms": 60000, **more}, Host(GRANTED))
    tap.equal((status, result["error"]), (OK, None), result)
    return result


def plots(result):
    tap.equal((result["exit_code"], result["stdout"]), (0, "b'\\x89PNG\\r\\n\\x1a\\n' 4 True\n"), result)


SHOW = """import matplotlib.pyplot as plt
import pandas
frame = pandas.DataFrame({"x": range(10), "square": [x * x for x in range(10)]})
plt.bar(["a", "b"], [3, 3]); plt.show()
plt.plot([1, 2])
plt.figure(); plt.plot([2, 1]); plt.savefig("saved.png")
print("printed")
frame.describe()
"""


def shows(result):
    """A picture where show() is called, the value, and a picture of what nobody has seen; nothing else in the output."""
    tap.equal((result["exit_code"], result["stdout"], result["stderr"], result["results_omitted"]), (0, "printed\n", "", None))
    tap.equal([(row["role"], row["mime_type"]) for row in result["results"]],
              [("display", "image/png"), ("value", "text/plain"), ("display", "image/png")])
    bars, table, line = result["results"]
    tap.equal((bars["chart"]["type"], bars["chart"]["orientation"], bars["alt"]), ("bar", "vertical", "bar chart, 2 bars"))
    tap.equal((table["table"]["rows"][0], table["table"]["truncated"]), (["count", 10.0, 10.0], False))
    tap.equal(line["chart"]["elements"][0]["points"], [[0.0, 1.0], [1.0, 2.0]])


in_force = [None]


def use(ready, of=None):
    """A gateway without anything yet, that keeps so many. of: its programs are all about that, and cases may share it."""
    if of is None or in_force[0] != (ready, of):
        provider.reset()
        tap.equal(provider.use_policy({"pools": {"process": {"ready": ready, "most": 0}}}), OK)
    in_force[0] = (ready, of)


def use_one_ready(name, code=None):
    """Of those that have the module ahead; the code is a program that names it."""
    if in_force[0] != (1, name):
        use(1, name)
        run(code or f"import {name}")


def test_a_frame_is_plotted():
    use(0, "nothing")
    plots(run(PLOT))


def test_pictures_and_tables_are_results():
    use(0, "nothing")
    shows(run(SHOW))


def test_show_of_another_backend_is_that_backend_s():
    use(0, "nothing")
    result = run("import matplotlib\nmatplotlib.use('svg')\nimport matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nprint(matplotlib.get_backend())")
    tap.equal((result["stdout"], result["exit_code"], [row["mime_type"] for row in result["results"]]), ("svg\n", 0, ["image/png"]), "at its end")


def test_the_program_finds_nothing_of_ours():
    use(0, "nothing")
    result = run("import sys\nprint([str(finder).split(' at ')[0] for finder in sys.meta_path])\nimport matplotlib.pyplot\nprint([m for m in sys.modules if m in ('figures', 'charts', 'tables')])")
    plain = subprocess.run(["/usr/bin/python3", "-c", "import sys\nprint([str(finder).split(' at ')[0] for finder in sys.meta_path])"],
                           stdout=subprocess.PIPE, text=True, check=True)
    tap.equal(result["stdout"], plain.stdout + "[]\n")


def is_ahead(name, *how):
    """It is imported beforehand where a program names it."""
    code = f"import sys\nahead = {name!r} in sys.modules\nimport {name}\nprint(ahead)"
    use_one_ready(name, code)
    kinds = waiting.await_kinds(1)
    tap.true(kinds <= set(how), kinds)
    tap.equal(waiting.ready_run(provider, lambda: run(code)["stdout"], 1, *kinds), "True\n", name)


def test_numpy_is_ahead_in_an_original_of_its_own():
    is_ahead("numpy", COPIED)


# The others start programs as they are imported, and wait in their sandboxes.
def test_pandas_is_ahead():
    is_ahead("pandas", COPIED, STARTED)


def test_one_that_has_pandas_ahead_shows_a_table():
    use_one_ready("pandas")
    code = "import pandas\npandas.DataFrame({'a': [1]})"
    result = waiting.ready_run(provider, lambda: run(code), 1, *waiting.await_kinds(1))
    tap.equal(result["results"][0]["table"]["rows"], [[1]])


def test_a_waiting_interpreter_ends_quickly_and_finalizes():
    """What was imported beforehand is kept from collections; what the program made is not."""
    use_one_ready("pandas")
    code = ("import atexit, gc, pandas, weakref\nclass Thing:\n    def __del__(self): print('gone', self.name)\nthing, cycle = Thing(), Thing()\n"
            "thing.name, cycle.name, cycle.own = 'at its end', 'in a collection', cycle\ndel cycle\ngc.collect()\natexit.register(print, 'at exit')\n"
            "frame = pandas.DataFrame({'x': [1]})\nweakref.finalize(frame, print, 'frame')\nprint(gc.get_freeze_count() > 10000)")
    [how] = waiting.await_kinds(1)
    tap.equal(waiting.ready_run(provider, lambda: run(code)["stdout"], 1, how), "gone in a collection\nTrue\nframe\nat exit\ngone at its end\n")


def test_matplotlib_is_ahead():
    is_ahead("matplotlib.pyplot", STARTED)


def test_a_waiting_interpreter_shows_them():
    use_one_ready("matplotlib.pyplot")
    shows(waiting.ready_run(provider, lambda: run(SHOW), 1, STARTED))


def test_a_waiting_interpreter_plots():
    use_one_ready("matplotlib.pyplot")
    plots(waiting.ready_run(provider, lambda: run(PLOT), 1, STARTED))


def test_the_first_of_a_gateway_finds_it_where_the_gateway_has_asked():
    """As one does that wants no agent to wait: with nothing of Python's run before. And it is told which are copied and which wait."""
    use(3)
    tap.equal(waiting.told(provider, "numpy")["code"], "copied")
    for word, *parts in ("pandas", ": pandas starts ", "starts uname"), ("matplotlib", "matplotlib.pyplot starts fc-list"):
        if waiting.told(provider, word)["how"] != "copied":  # with numexpr beside it, pandas starts a thread, too
            waiting.expect_told(provider, "started_ahead", "modules_do_more", *parts, word=word)
    kinds = waiting.await_kinds(1 + len(MODULES))
    tap.equal(kinds, {COPIED, STARTED})
    for name in "numpy", "pandas", "matplotlib.pyplot":
        before = provider.counters()["sandboxes_ready"]
        tap.equal(run(f"import sys\nprint({name!r} in sys.modules)")["stdout"], "True\n", name)
        tap.equal(provider.counters()["sandboxes_ready"] - before, 1, name)


def test_plain_programs_have_none_of_it():
    use(1)
    run("import numpy")
    code = "import sys; print([name for name in sys.modules if name[:2] in ('nu', 'pa', 'ma') and name not in ('marshal', 'math', 'numbers', 'pathlib')])"
    run(code)
    tap.eventually(lambda: len(waiting.waiting()) == 2, "both kinds wait", 60)
    tap.equal(run(code)["stdout"], "[]\n")


provider.reset()
installed = run(f"import importlib.util; print(all(map(importlib.util.find_spec, {MODULES!r})))")
if installed["stdout"] != "True\n":
    tap.skip_all("not all of them are installed (Debian: python3-numpy, python3-pandas, python3-matplotlib)")
tap.run(globals())
