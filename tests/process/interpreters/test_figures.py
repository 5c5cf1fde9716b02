# SPDX-License-Identifier: Apache-2.0
"""Pictures of the real matplotlib, as our runner shows them: in an interpreter that has it, with a pipe."""
import base64
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from packages import library_python

library_python.become_one_with("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.backends.backend_agg
import matplotlib.pyplot as plt
from languages.shown import OMITTED, RESULT, Shown


class Program(Shown):
    """One that has just imported matplotlib."""

    def __init__(self):
        super().__init__()
        plt.close("all")
        self.load("figures")["install"](matplotlib.backends.backend_agg)
        plt.switch_backend("agg")

    def during_call(self, function):
        self.names["call"] = function
        return self.during("call")


def kinds(frames):
    return [(frame["role"], "image/png" in frame["data"], frame["type_name"].rpartition(".")[2]) for kind, frame in frames if kind == RESULT]


SHOWN, VALUE = ("display", True, "Figure"), ("value", True, "Figure")


def test_show_displays_the_figures_and_closes_them():
    program = Program()
    plt.plot([1, 2])
    plt.figure()
    plt.bar(["a"], [1])
    frames = program.during_call(plt.show)
    tap.equal(kinds(frames), [SHOWN, SHOWN])
    tap.equal([frame["chart"]["type"] for _, frame in frames], ["line", "bar"])
    tap.true(base64.b64decode(frames[0][1]["data"]["image/png"]).startswith(b"\x89PNG\r\n\x1a\n"), "a PNG")
    tap.equal(frames[0][1]["alt"], "line chart, 1 series")
    tap.equal((plt.get_fignums(), program.tell()), ([], []))


def test_figures_that_nobody_has_seen_are_shown_at_the_end():
    program = Program()
    plt.plot([1, 2])
    plt.figure()  # empty
    figure = plt.figure()
    plt.plot([2, 1])
    plt.close(figure)
    tap.equal(kinds(program.tell()), [SHOWN])


def test_a_figure_as_the_value_is_one_result():
    program = Program()
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    tap.equal(kinds(program.tell(figure)), [VALUE])
    program = Program()
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    tap.equal(kinds(program.display(figure)), [SHOWN])
    tap.equal(kinds(program.tell(figure)), [])
    program = Program()
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    tap.equal(kinds(program.during_call(plt.show)), [SHOWN])
    tap.equal(program.tell(figure), [])


def test_a_change_makes_another_picture():
    program = Program()
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    program.display(figure)
    axes.set_title("later")
    tap.equal(kinds(program.tell()), [SHOWN])


def test_a_figure_that_the_program_has_saved_is_not_shown_again():
    with tempfile.TemporaryDirectory() as directory:
        for ending, expected in ("png", []), ("pdf", [SHOWN]):
            program = Program()
            plt.plot([1, 2])
            plt.savefig(f"{directory}/x.{ending}")
            tap.equal(kinds(program.tell()), expected, ending)
        program = Program()
        plt.plot([1, 2])
        plt.savefig(f"{directory}/x.png")
        plt.title("later")
        tap.equal(kinds(program.tell()), [SHOWN])


def test_a_part_of_a_figure_is_the_figure():
    for make in (lambda: plt.plot([1, 2]), lambda: plt.gca().plot([1, 2])[0].axes, lambda: plt.plot([1]) and plt.title("x"), lambda: plt.hist([1, 2]),
                 lambda: plt.bar(["a"], [1]), lambda: plt.boxplot([1, 2, 3]), lambda: plt.subplots(2, 2)[1], lambda: plt.subplots(), lambda: plt.pie([1, 2])):
        program = Program()
        frames = program.tell(make())
        tap.equal([frame["role"] for _, frame in frames], ["value"], frames[0][1]["type_name"])
        tap.true("image/png" in frames[0][1]["data"] and frames[0][1]["data"]["text/plain"].startswith("<Figure "), frames[0][1]["data"]["text/plain"])


def test_lists_of_other_things_are_lists():
    for value in [1, 2], (), {}, {"a": [1]}, [[[[]]]], plt.xlim:
        tap.equal(Program().value(value)["data"]["text/plain"], repr(value))
    import numpy
    tap.equal(Program().value(numpy.arange(3))["data"]["text/plain"], "array([0, 1, 2])")


def test_limits():
    program = Program()
    figure = plt.figure(figsize=(200, 200))
    figure.add_subplot().plot([1, 2])
    data = base64.b64decode(program.tell(figure)[0][1]["data"]["image/png"])
    tap.true(int.from_bytes(data[16:20], "big") * int.from_bytes(data[20:24], "big") <= 16.1e6, "pixels")
    program = Program()
    program.display(*range(64))
    plt.plot([1])
    omitted = [frame for kind, frame in program.tell() if kind == OMITTED]
    tap.equal([(frame["count"], frame["reason"]) for frame in omitted], [(1, "max_items")])


def test_a_figure_that_cannot_be_drawn_is_named():
    program = Program()
    figure, axes = plt.subplots()
    axes.set_title("$\\unknown$")
    frames = program.tell(figure)
    tap.contains(frames[0][1]["data"]["text/plain"], "<Figure size")


def test_seaborn():
    try:
        import pandas
        import seaborn
    except ImportError as error:
        raise tap.Skip(str(error)) from None
    frame = pandas.DataFrame({"x": [1, 2, 3, 4], "y": [1, 2, 3, 5], "k": ["a", "a", "b", "b"]})
    for make in lambda: seaborn.scatterplot(data=frame, x="x", y="y"), lambda: seaborn.relplot(data=frame, x="x", y="y", col="k"):
        frames = Program().tell(make())
        tap.equal([(frame["role"], "image/png" in frame["data"]) for _, frame in frames], [("value", True)])


def test_pandas():
    try:
        import pandas
    except ImportError as error:
        raise tap.Skip(str(error)) from None
    frames = Program().tell(pandas.DataFrame({"x": [1, 2]}).plot())
    tap.equal([(frame["role"], "image/png" in frame["data"], frame["chart"]["type"]) for _, frame in frames], [("value", True, "line")])


def measure():
    """A picture of ours against savefig() alone, by turns."""
    import io
    ours, alone = [], []
    program = Program()
    for _ in range(15):
        for times, draw in (ours, lambda figure: program.load("figures")["members_of"](figure)), (alone, lambda figure: figure.savefig(io.BytesIO())):
            figure, axes = plt.subplots()
            axes.plot(range(10000))
            begin = time.perf_counter()
            draw(figure)
            times.append(time.perf_counter() - begin)
            plt.close("all")
    print(f"ours {sorted(ours)[7] * 1000:.1f} ms, savefig() {sorted(alone)[7] * 1000:.1f} ms, least {min(ours) * 1000:.1f} and {min(alone) * 1000:.1f}")


if "--measure" in sys.argv:
    measure()
    sys.exit()
tap.run(globals())
