# SPDX-License-Identifier: Apache-2.0
"""The distribution's numpy, pandas and matplotlib under the shipped policy, with nothing configured."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
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


def test_a_frame_is_plotted():
    provider.reset()
    plots(run(PLOT))


provider.reset()
installed = run(f"import importlib.util; print(all(map(importlib.util.find_spec, {MODULES!r})))")
if installed["stdout"] != "True\n":
    tap.skip_all("not all of them are installed (Debian: python3-numpy, python3-pandas, python3-matplotlib)")
tap.run(globals())
