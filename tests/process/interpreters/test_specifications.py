# SPDX-License-Identifier: Apache-2.0
"""Charts of the real plotly and altair, as our runner shows them: in an interpreter that has them, with a pipe."""
import datetime
import decimal
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from packages import library_python

library_python.become_one_with("plotly")
import altair
import numpy
import pandas
import plotly.graph_objects as graph_objects
import plotly.io._renderers
from languages.shown import OMITTED, RESULT, Shown

PLOTLY, VEGA_LITE = "application/vnd.plotly.v1+json", "application/vnd.vegalite.v5+json"
ALTAIR_API = sys.modules[altair.TopLevelMixin.__module__]
SHOWS = (plotly.io._renderers, "show"), (altair.TopLevelMixin, "show")
ORIGINAL = [getattr(owner, name) for owner, name in SHOWS]


class Program(Shown):
    """One that has just imported both."""

    def __init__(self):
        super().__init__()
        for (owner, name), function in zip(SHOWS, ORIGINAL):
            setattr(owner, name, function)
        for module in plotly.io._renderers, ALTAIR_API:
            self.load("specifications")["install"](module)

    def during_call(self, function):
        self.names["call"] = function
        return self.during("call")


def forms(frames):
    return [(frame["role"], sorted(frame["data"])) for kind, frame in frames if kind == RESULT]


def omitted(frames):
    return [(frame["count"], frame["reason"]) for kind, frame in frames if kind == OMITTED]


def specification(value, mime_type=PLOTLY):
    return Program().value(value)["data"][mime_type]


def line(y=(1, 2), **layout):
    return graph_objects.Figure(graph_objects.Scatter(y=y, name="a"), layout=layout)


def chart(rows=2):
    return altair.Chart(pandas.DataFrame({"x": range(rows), "y": range(rows)})).mark_point().encode(x="x", y="y")


PLOTLY_SHOWN, ALTAIR_SHOWN = ([("display", [mime_type, "text/plain"])] for mime_type in (PLOTLY, VEGA_LITE))


def test_a_figure_of_plotly():
    frame = Program().value(line(numpy.array([1.5, float("nan"), 3]), title="T"))
    found = frame["data"][PLOTLY]
    tap.equal((found["data"], found["layout"]["title"]), ([{"name": "a", "y": [1.5, None, 3], "type": "scatter"}], {"text": "T"}))
    tap.equal((frame["data"]["text/plain"], frame["type_name"].rpartition(".")[2]), ("plotly figure 'T': scatter 'a'", "Figure"))


def test_it_is_what_plotly_itself_writes():
    import plotly.express
    frame = pandas.DataFrame({"x": [1, 2, 3, 4], "y": [0.1, 1e300, -0.0, 1e-7], "k": ["a", "b", "a", "b"],
                              "t": pandas.date_range("2026-01-01", periods=4)})
    animated = graph_objects.Figure(line(), frames=[graph_objects.Frame(data=[graph_objects.Bar(y=[1])], name="f")])
    for figure in (plotly.express.scatter(frame, x="x", y="y", color="k"), plotly.express.histogram(frame, x="t"), animated,
                   graph_objects.Figure(graph_objects.Heatmap(z=numpy.arange(6).reshape(2, 3))), graph_objects.Figure()):
        tap.equal(specification(figure), json.loads(json.dumps(unpacked(json.loads(figure.to_json())))))


def unpacked(value):
    """Without plotly's packed arrays."""
    import base64
    if isinstance(value, dict) and "bdata" in value:
        array = numpy.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        return array.reshape([int(part) for part in value["shape"].split(",")] if "shape" in value else -1).tolist()
    if isinstance(value, dict):
        return {name: unpacked(item) for name, item in value.items()}
    return [unpacked(item) for item in value] if isinstance(value, list) else value


def test_every_kind_of_number_and_time_is_json():
    for values, expected in (([numpy.float32(0.5), numpy.int8(3), True, None], [0.5, 3, True, None]),
                             ([float("inf"), float("-inf"), float("nan")], [None, None, None]),
                             ([2**53 - 1, 2**60, 10**400], [2**53 - 1, 2.0**60, None]),
                             ([datetime.datetime(2026, 1, 2, 3), datetime.date(2026, 1, 2)], ["2026-01-02T03:00:00", "2026-01-02"]),
                             (numpy.array(["2026-01-02", "NaT"], "datetime64[D]"), ["2026-01-02", None]),
                             ([decimal.Decimal("1.5"), pandas.NaT, pandas.NA], [1.5, None, None]),
                             (numpy.ma.array([1, 2], mask=[True, False]), [None, 2]), (["\ud800\0\"é"], ["?\ufffd\"é"])):
        figure = line()
        figure._data[0]["y"] = values
        tap.equal(specification(figure)["data"][0]["y"], expected, repr(values))


def test_a_chart_of_altair():
    made = chart()
    frame = Program().value(made)
    expected = made.to_dict()
    tap.equal(frame["data"][VEGA_LITE], expected)
    tap.contains(frame["data"][VEGA_LITE]["$schema"], "vega-lite")
    tap.equal(frame["data"]["text/plain"], "alt.Chart(...)")
    for made in chart() | chart(3), chart() & chart(), chart() + chart(3), chart().facet("x"), chart().repeat(["x"]):
        tap.equal(specification(made, VEGA_LITE), made.to_dict(), type(made))


def test_more_rows_than_a_notebook_may_have():
    found = specification(chart(6000), VEGA_LITE)
    tap.equal([len(rows) for rows in found["datasets"].values()], [6000])
    frames = Program().tell(chart(6000) | chart(10))
    tap.equal(forms(frames), [("value", [VEGA_LITE, "text/plain"])])
    try:
        chart(6000).to_dict()
        tap.true(False, "altair's own limit is as before")
    except altair.MaxRowsError:
        pass


def test_what_is_too_large_is_not_made():
    """The array would be 80 MB of a copy, and the frame as many objects."""
    import tracemalloc
    rows = pandas.DataFrame(numpy.zeros((25000, 100)), columns=[f"c{number}" for number in range(100)])
    for value in (line(numpy.zeros(10**7)), line([0] * 10**6), line(["x" * 100] * 20000), altair.Chart(rows).mark_point().encode(x="c1:Q"),
                  altair.layer(altair.Chart(rows).mark_point().encode(x="c1:Q"), data=rows), chart(31000)):
        program = Program()
        tracemalloc.start()
        frames = program.tell(value)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        tap.equal((omitted(frames), forms(frames)), ([(1, "text_bytes")], [("value", ["text/plain"])]))
        tap.true(most < 20e6, f"{most} bytes at most")


def test_long_arrays_are_packed_as_plotly_does_it():
    if not isinstance(line(numpy.arange(3)).to_dict()["data"][0]["y"], dict):
        raise tap.Skip(f"plotly {plotly.__version__} has no packed arrays")
    figure = line(numpy.arange(70000) + 0.5)
    found = specification(figure)
    tap.equal(set(found["data"][0]["y"]), {"dtype", "bdata"})
    tap.equal(unpacked(found)["data"][0]["y"], (numpy.arange(70000) + 0.5).tolist())


def test_a_chart_that_is_not_finished_is_named():
    for value, name in (altair.Chart(pandas.DataFrame({"x": [1]})), "alt.Chart(...)"), (unwritable(), "plotly figure: scatter 'a'"):
        frames = Program().tell(value)
        tap.equal(omitted(frames), [(1, "invalid")])
        tap.equal([frame["data"] for kind, frame in frames if kind == RESULT], [{"text/plain": name}])


def unwritable():
    figure = line()
    figure._data[0]["y"] = [object()]
    return figure


def test_show_is_a_display():
    program = Program()
    tap.equal(forms(program.during_call(line().show)), PLOTLY_SHOWN)
    program = Program()
    tap.equal(forms(program.during_call(lambda: plotly.io.show({"data": [{"type": "bar", "y": [1]}]}))), PLOTLY_SHOWN)
    program = Program()
    tap.equal(forms(program.during_call(chart().show)), ALTAIR_SHOWN)


def test_what_is_both_shown_and_returned_appears_once():
    for made, expected in (line(numpy.arange(5)), PLOTLY_SHOWN), (chart(), ALTAIR_SHOWN):
        program = Program()
        tap.equal(forms(program.during_call(made.show)), expected)
        tap.equal(program.tell(made), [])
        program = Program()
        tap.equal(forms(program.display(made)), expected)
        tap.equal(program.tell(made), [])


def test_a_change_makes_another_chart():
    figure = line()
    program = Program()
    tap.equal(forms(program.display(figure)), PLOTLY_SHOWN)
    figure.update_layout(title="later")
    tap.equal(program.tell(figure)[0][1]["data"][PLOTLY]["layout"]["title"], {"text": "later"})


def test_a_renderer_that_the_program_chooses_is_used():
    seen = []

    class Own(plotly.io.base_renderers.ExternalRenderer):
        def render(self, figure):
            seen.append(figure["data"][0]["type"])

    program = Program()
    plotly.io.renderers["own"] = Own()
    tap.equal(program.during_call(lambda: line().show("own")), [])
    before = plotly.io.renderers.default
    plotly.io.renderers.default = "own"
    tap.equal(program.during_call(line().show), [])
    plotly.io.renderers.default = before
    tap.equal(seen, ["scatter", "scatter"])


def test_a_renderer_of_altair_that_the_program_chooses_is_used():
    program = Program()
    called = []
    setattr(altair.TopLevelMixin, "show", lambda chart: called.append(chart))
    program.load("specifications")["install"](ALTAIR_API)
    with altair.renderers.enable("json"):
        tap.equal(program.during_call(chart().show), [])
    tap.equal((len(called), forms(program.during_call(chart().show))), (1, ALTAIR_SHOWN))


def test_other_objects_of_theirs_are_shown_as_any_other():
    for value in graph_objects.Scatter(y=[1]), altair.X("x"):
        tap.equal(Program().value(value)["data"]["text/plain"], repr(value))


def test_show_has_the_name_and_the_help_of_the_library_s():
    Program()
    for (owner, name), function in zip(SHOWS, ORIGINAL):
        found = getattr(owner, name)
        tap.true(found is not function, "replaced")
        for attribute in "__name__", "__qualname__", "__module__", "__doc__":
            tap.equal(getattr(found, attribute), getattr(function, attribute))


tap.run(globals())
