# SPDX-License-Identifier: Apache-2.0
"""The data of charts of the real matplotlib, against what was drawn: in an interpreter that has it, with a pipe."""
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from packages import library_python

library_python.become_one_with("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy
from languages.shown import load


def need(name):
    try:
        return __import__(name)
    except ImportError:
        raise tap.Skip(f"{name} is not installed") from None


def told(figure):
    figure.canvas.draw()
    members = load("charts")["members"](figure)
    plt.close("all")
    return json.loads(members["chart"]) if members else None, members.get("alt")


def test_lines():
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], [4.5, float("nan"), 6], label="latency")
    axes.plot([1, 2], [0, 1])
    axes.axhline(5)
    axes.set(title="T", xlabel="time (s)", ylabel="latency [ms]")
    chart, alt = told(figure)
    tap.equal((chart["type"], chart["title"], chart["x_unit"], chart["y_unit"], chart["x_scale"], chart["y_label"]),
              ("line", "T", "s", "ms", "linear", "latency [ms]"))
    tap.equal(chart["elements"], [{"label": "latency", "points": [[1, 4.5], [2, None], [3, 6]]}, {"label": "", "points": [[1, 0], [2, 1]]}])
    tap.equal(len(chart["x_ticks"]), len(chart["x_tick_labels"]))
    tap.equal(alt, "line chart: T (latency [ms] over time (s)), 2 series")


def test_scales():
    import datetime
    figure, axes = plt.subplots()
    axes.plot([datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 3, 12)], [1, 10])
    axes.set_yscale("log")
    chart, _ = told(figure)
    tap.equal((chart["x_scale"], chart["y_scale"]), ("datetime", "log"))
    tap.equal(chart["elements"][0]["points"], [["2026-01-02T00:00:00", 1], ["2026-01-03T12:00:00", 10]])
    figure, axes = plt.subplots()
    axes.plot(["a", "b"], [1, 2])
    chart, _ = told(figure)
    tap.equal((chart["x_scale"], chart["elements"][0]["points"], chart["x_tick_labels"]), ("categorical", [["a", 1], ["b", 2]], ["a", "b"]))


def test_scatter():
    figure, axes = plt.subplots()
    axes.scatter([1, 2], [3, 4], label="one")
    axes.plot([5], [6], "o", label="marks")
    chart, _ = told(figure)
    tap.equal((chart["type"], chart["elements"]), ("scatter", [{"label": "one", "points": [[1, 3], [2, 4]]}, {"label": "marks", "points": [[5, 6]]}]))
    figure, axes = plt.subplots()
    axes.scatter([1, 2], [3, 4])
    axes.plot([1, 2], [3, 4])
    chart, alt = told(figure)
    tap.equal([part["type"] for part in chart["elements"]], ["scatter", "line"])
    tap.equal(alt, "2 charts (scatter, line)")


def bars(draw):
    figure, axes = plt.subplots()
    draw(axes)
    chart, _ = told(figure)
    tap.equal(chart["type"], "bar")
    return chart["orientation"], [(bar["label"], bar["group"], bar["value"]) for bar in chart["elements"]]


def test_equal_bars_keep_their_direction():
    tap.equal(bars(lambda axes: axes.bar(["a", "b"], [3, 3])), ("vertical", [("a", "", 3), ("b", "", 3)]))
    tap.equal(bars(lambda axes: axes.barh(["a", "b"], [3, 3])), ("horizontal", [("a", "", 3), ("b", "", 3)]))
    tap.equal(bars(lambda axes: axes.barh(["a", "b"], [1, -2])), ("horizontal", [("a", "", 1), ("b", "", -2)]))


def test_bars_without_names_and_in_groups():
    tap.equal(bars(lambda axes: axes.bar([1, 5.5], [2, 3])), ("vertical", [("1", "", 2), ("5.5", "", 3)]))

    def groups(axes):
        places = numpy.arange(2)
        axes.bar(places - 0.2, [1, 2], 0.4, label="x", yerr=[0.1, 0.1])
        axes.bar(places + 0.2, [3, 4], 0.4, label="y")
        axes.set_xticks(places)
        axes.set_xticklabels(["first", "second"])
    tap.equal(bars(groups)[1], [("first", "x", 1), ("second", "x", 2), ("first", "y", 3), ("second", "y", 4)])
    tap.equal(bars(lambda axes: axes.hist([0, 0, 1, 4], bins=[0, 2, 4]))[1], [("0 - 2", "", 3), ("2 - 4", "", 1)])


def test_bars_of_pandas():
    pandas = need("pandas")
    frame = pandas.DataFrame({"x": [1, 2], "y": [3, 4]}, index=["a", "b"])
    chart, _ = told(frame.plot.bar().figure)
    tap.equal([(bar["label"], bar["group"], bar["value"]) for bar in chart["elements"]], [("a", "x", 1), ("b", "x", 2), ("a", "y", 3), ("b", "y", 4)])


def test_times_of_pandas():
    pandas = need("pandas")
    series = pandas.Series([1, 2], index=pandas.date_range("2026-01-01", periods=2, freq="D"), name="s")
    chart, _ = told(series.plot().figure)
    tap.equal((chart["x_scale"], chart["elements"][0]["points"]), ("datetime", [["2026-01-01T00:00:00", 1], ["2026-01-02T00:00:00", 2]]))


def test_a_pie():
    figure, axes = plt.subplots()
    axes.pie([1, 3], labels=["a", "b"], autopct="%1.0f%%")
    chart, alt = told(figure)
    tap.equal([(part["label"], round(part["angle"], 3), part["radius"], part["autopct"]) for part in chart["elements"]], [("a", 90, 1, "25%"), ("b", 270, 1, "75%")])
    tap.equal(alt, "pie chart, 2 parts")
    figure, axes = plt.subplots()
    axes.pie([1, 1])
    tap.equal([part["label"] for part in told(figure)[0]["elements"]], ["", ""])


BOX = {"min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 5, "outliers": [20]}
VALUES = [1, 2, 2, 3, 4, 4, 5, 3, 20]


def boxes(**options):
    figure, axes = plt.subplots()
    axes.boxplot([VALUES, [1, 1, 1]], **options)
    chart, _ = told(figure)
    tap.equal(chart and chart["type"], "box_and_whisker", options)
    return chart


def test_boxes_in_each_form():
    """Without labels, as lines and as patches, in both directions; of equal values, too."""
    newer = tuple(int(part) for part in matplotlib.__version__.split(".")[:2]) >= (3, 10)
    lying = {"orientation": "horizontal"} if newer else {"vert": False}
    for options in {}, {"patch_artist": True}, {"notch": True}, {"showcaps": False}, {"showfliers": False}, lying, {**lying, "patch_artist": True}, \
            {**lying, "notch": True}:
        chart = boxes(**options)
        first, second = chart["elements"]
        expected = {**BOX, "outliers": [] if options.get("showfliers") is False else [20]}
        tap.equal({name: first[name] for name in BOX}, expected, options)
        tap.equal((first["label"], second["label"], second["median"], second["min"]), ("1", "2", 1, 1), options)
        tap.equal(chart["orientation"], "horizontal" if lying.items() <= options.items() else "vertical", options)


def test_boxes_with_names():
    figure, axes = plt.subplots()
    axes.boxplot([VALUES])
    axes.set_xticklabels(["named"])
    tap.equal(told(figure)[0]["elements"][0]["label"], "named")


def test_a_rectangle_of_lines_is_no_box():
    figure, axes = plt.subplots()
    axes.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0])
    tap.equal(told(figure)[0]["type"], "line")


def test_several_axes():
    figure, (one, two) = plt.subplots(1, 2)
    one.plot([1, 2], [3, 4])
    two.bar(["a"], [1])
    figure.suptitle("both")
    chart, alt = told(figure)
    tap.equal((chart["type"], chart["title"], [part["type"] for part in chart["elements"]]), ("superchart", "both", ["line", "bar"]))
    tap.equal(alt, "2 charts (line, bar): both")


def test_what_is_no_chart():
    figure, axes = plt.subplots()
    figure.colorbar(axes.imshow([[1, 2], [3, 4]]))
    tap.equal(told(figure), (None, None))
    figure, _ = plt.subplots(subplot_kw={"projection": "polar"})
    tap.equal(told(figure), (None, None))


def test_seaborn():
    seaborn, pandas = need("seaborn"), need("pandas")
    frame = pandas.DataFrame({"x": ["a", "a", "b", "b"], "y": [1, 2, 3, 4], "z": [1.0, 2, 3, 4]})
    figure, axes = plt.subplots()
    seaborn.scatterplot(data=frame, x="z", y="y", hue="x", ax=axes)
    tap.equal(told(figure)[0]["type"], "scatter")
    figure, axes = plt.subplots()
    seaborn.boxplot(data=frame, x="x", y="y", ax=axes)
    chart, _ = told(figure)
    tap.equal((chart["type"], [(box["label"], box["median"]) for box in chart["elements"]]), ("box_and_whisker", [("a", 1.5), ("b", 3.5)]))
    figure, axes = plt.subplots()
    seaborn.barplot(data=frame, x="x", y="y", ax=axes)
    chart, _ = told(figure)
    tap.equal((chart["type"], [(bar["label"], bar["value"]) for bar in chart["elements"]]), ("bar", [("a", 1.5), ("b", 3.5)]))


def test_seaborn_s_violins_are_a_picture_alone():
    seaborn, pandas = need("seaborn"), need("pandas")
    frame = pandas.DataFrame({"x": ["a"] * 4 + ["b"] * 4, "y": [1, 2, 3, 7, 3, 4, 5, 6]})
    for inner in "box", "quart":
        figure, axes = plt.subplots()
        seaborn.violinplot(data=frame, x="x", y="y", inner=inner, ax=axes)
        tap.equal(told(figure), (None, None), inner)
    figure, axes = plt.subplots()
    seaborn.lineplot(pandas.DataFrame({"x": [1, 1, 2, 2], "y": [1, 2, 3, 4]}), x="x", y="y", ax=axes)
    tap.equal([(chart["type"], chart["elements"][0]["points"]) for chart in [told(figure)[0]]], [("line", [[1, 1.5], [2, 3.5]])])
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], [1, float("nan"), 3])
    axes.fill_between([1, 2, 3], [0, 0, 0], [2, 2, 4])
    tap.equal(told(figure)[0]["elements"][0]["points"], [[1, 1], [2, None], [3, 3]])


def long_line():
    figure, axes = plt.subplots()
    values = numpy.sin(numpy.arange(10000) / 50)
    values[5003], values[7001] = 40, -40
    axes.plot(numpy.arange(10000), values)
    figure.canvas.draw()
    return figure


def test_a_long_line_keeps_its_extremes():
    chart, _ = told(long_line())
    [element] = chart["elements"]
    points = element["points"]
    tap.equal(element["sampled_from"], 10000)
    tap.true(500 <= len(points) <= 1002, len(points))
    tap.true([5003, 40] in points and [7001, -40] in points and points[0][0] == 0 and points[-1][0] == 9999, "extremes and ends")
    tap.equal(points, sorted(points))


def test_many_artists_are_bounded():
    figure, axes = plt.subplots()
    for _ in range(300):
        axes.plot(numpy.arange(200))
    chart, _ = told(figure)
    tap.true(len(json.dumps(chart)) < 1 << 19, len(json.dumps(chart)))
    tap.equal((len(chart["elements"]), chart["total_elements"]), (100, 300))


def test_all_is_json():
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3], [float("inf"), float("nan"), -5], label='"\n\0')
    chart, _ = told(figure)
    tap.equal(chart["elements"][0]["points"], [[1, None], [2, None], [3, -5]])


if "--measure" in sys.argv:
    figure, members = long_line(), load("charts")["members"]
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        members(figure)
        times.append((time.perf_counter() - begin) * 1000)
    print(f"10000 points: median {sorted(times)[25]:.2f} ms, least {min(times):.2f} ms")
    sys.exit()
tap.run(globals())
