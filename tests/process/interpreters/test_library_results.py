# SPDX-License-Identifier: Apache-2.0
"""Libraries of PyPI in a run: what programs show with them, in each of the ways in which their interpreter starts."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from modes import Provider
from packages import library_python, python_packages
from provider import OK, Host

ENVIRONMENT = library_python.of_pypi()
if not python_packages.is_open_to_others(ENVIRONMENT):
    tap.skip_all(f"the user of a sandbox cannot look into {ENVIRONMENT}")
BEGUN, READY = "begun with its run", 1
PLOTLY, VEGA_LITE = "application/vnd.plotly.v1+json", "application/vnd.vegalite.v5+json"
provider = Provider()


def use(way, *modules):
    provider.reset()
    python = {"argv": [f"{ENVIRONMENT}/bin/python", "{file}"], "read_only": [str(ENVIRONMENT)],
              "prepare": {"interpreter": "python", "import": list(modules), "import_named": None, "fork": False}}
    pool = {"ready": 0 if way is BEGUN else READY, "most": 0}
    limits = {"memory_bytes": {"default": 1 << 30, "max": 1 << 30}, "wall_ms": {"default": 60000, "max": 60000},
              "cpu_ms": {"default": 60000, "max": 60000}}
    tap.equal(provider.use_policy({"pools": {"process": pool}, "languages": {"python": python}, "limits": limits}), OK)


def run(way, code):
    def once():
        status, result = provider.invoke({"language": "python", "code": code}, Host(("sandbox.exec",)))
        tap.equal((status, result["error"], result["exit_code"]), (OK, None, 0), result["stderr"])
        tap.lacks(result["stderr"], "Traceback")
        return result
    if way is BEGUN:
        return once()
    once()
    return waiting.ready_run(provider, once, READY, way)


def rows(result):
    return [(row["role"], row["mime_type"]) for row in result["results"]]


PROGRAMS = {
    "plotly": ("import plotly.express as px\nfigure = px.line(x=[1, 2], y=[3, 4], title='T')\nfigure.show()\nprint('printed')\nfigure",
               [("display", PLOTLY)]),
    "altair": ("import altair as alt, pandas as pd\nchart = alt.Chart(pd.DataFrame({'x': [1]})).mark_bar().encode(x='x')\nchart.show()\n"
               "print('printed')\nchart", [("display", VEGA_LITE)]),
    "a value": ("import plotly.graph_objects as go\nprint('printed')\ngo.Figure(go.Bar(y=[1, 2]))", [("value", PLOTLY)]),
    "Pillow": ("from PIL import Image\nImage.new('L', (3, 2)).show()\nprint('printed')", [("display", "image/png")]),
    "polars": ("import polars\nprint('printed')\npolars.DataFrame({'a': [1, 2]})", [("value", "text/plain")]),
    "seaborn": ("import seaborn, pandas\nseaborn.barplot(pandas.DataFrame({'x': ['a', 'b'], 'y': [1, 2]}), x='x', y='y')\nprint('printed')",
                [("display", "image/png")]),
}


def check(way, names, *modules):
    use(way, *modules)
    for name in names:
        code, expected = PROGRAMS[name]
        result = run(way, code)
        tap.equal((rows(result), result["stdout"], result["results_omitted"]), (expected, "printed\n", None), name)
        if name == "polars":
            tap.equal(result["results"][0]["table"]["rows"], [[1], [2]])
        if name == "seaborn":
            tap.equal([(bar["label"], bar["value"]) for bar in result["results"][0]["chart"]["elements"]], [("a", 1), ("b", 2)])


def test_begun_with_its_run():
    check(BEGUN, PROGRAMS)


def test_waiting():
    check(waiting.STARTED, ("plotly", "Pillow"))


def test_imported_before_the_run():
    check(waiting.STARTED, ("plotly", "altair", "Pillow"), "plotly.io._renderers", "plotly.graph_objects", "altair", "PIL.ImageShow")


def test_nothing_is_imported_for_a_value():
    use(BEGUN)
    result = run(BEGUN, """import atexit, sys, plotly.graph_objects as go
figure = go.Figure(go.Bar(y=[1]))
before = set(sys.modules)
atexit.register(lambda: print(sorted(set(sys.modules) - before)))
figure""")
    tap.equal((rows(result), result["stdout"]), ([("value", PLOTLY)], "[]\n"))


tap.run(globals())
