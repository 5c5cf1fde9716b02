# SPDX-License-Identifier: Apache-2.0
"""Tables of the real libraries, as our runner writes them: in an interpreter that has them, with a pipe."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from packages import library_python

library_python.become_one_with("pandas")
from languages.shown import Shown


def need(name):
    try:
        return __import__(name)
    except ImportError:
        raise tap.Skip(f"{name} is not installed") from None


def table(value):
    frame = Shown().value(value)
    return frame["table"], frame["data"]


def test_a_frame():
    pandas = need("pandas")
    shown, data = table(pandas.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, float("inf")], "d": pandas.to_datetime(["2026-01-02", None]), "e": [True, False]}))
    tap.equal([column["name"] for column in shown["columns"]], ["a", "b", "c", "d", "e"])
    tap.equal([column["type"] for column in shown["columns"]][::4], ["int64", "bool"])
    tap.equal(shown["rows"], [[1, "x", 1.5, "2026-01-02T00:00:00", True], [2, None, "inf", None, False]])
    tap.equal((shown["total_rows"], shown["total_columns"], shown["truncated"]), (2, 5, False))
    tap.contains(data["text/html"], "<table")
    tap.contains(data["text/plain"], "2026-01-02")


def test_labels_of_rows_are_columns():
    pandas = need("pandas")
    frame = pandas.DataFrame({"a": [1.0, 3.0]})
    shown, data = table(frame.describe())
    tap.equal(shown["columns"][0]["index"], True)
    tap.equal([row[0] for row in shown["rows"]], ["count", "mean", "std", "min", "25%", "50%", "75%", "max"])
    tap.equal(shown["rows"][1], ["mean", 2.0])
    tap.contains(data["text/plain"], "mean")
    by_two = pandas.DataFrame({"k": ["a", "a"], "l": [1, 2], "v": [3, 4]}).set_index(["k", "l"])
    shown, _ = table(by_two)
    tap.equal(([column["name"] for column in shown["columns"]], shown["rows"], shown["total_columns"]), (["k", "l", "v"], [["a", 1, 3], ["a", 2, 4]], 1))
    shown, _ = table(pandas.Series(["x", "x", "y"], name="word").value_counts())
    tap.equal(shown["rows"], [["x", 2], ["y", 1]])
    shown, _ = table(pandas.Series([1, 2]))
    tap.equal(([column["name"] for column in shown["columns"]], shown["rows"]), (["value"], [[1], [2]]))


def test_large_ones_are_cut_before_they_are_formatted():
    pandas = need("pandas")

    class Counted:
        made = 0

        def __str__(self):
            Counted.made += 1
            return "counted"

        __repr__ = __str__

    frame = pandas.DataFrame({"a": [Counted()] * 10**6, "b": range(10**6)})
    for rows in 60, None, 0:
        Counted.made = 0
        with pandas.option_context("display.max_rows", rows):
            shown, data = table(frame)
        tap.true(Counted.made < 5000, (rows, Counted.made))
        tap.equal((len(shown["rows"]), shown["total_rows"], shown["truncated"]), (100, 10**6, True))
        tap.contains(data["text/plain"], "[1000000 rows x 2 columns]")
    shown, data = table(pandas.DataFrame([[1] * 5000]))
    tap.equal((len(shown["columns"]), len(shown["rows"][0]), shown["total_columns"], shown["truncated"]), (100, 100, 5000, True))
    shown, _ = table(pandas.DataFrame({"a": ["x" * 10**6] * 50}))
    tap.equal((len(shown["rows"][0][0]), len(shown["rows"])), (1003, 50))
    shown, _ = table(pandas.DataFrame({name: ["x" * 10**4] * 100 for name in range(100)}))
    tap.true(0 < len(shown["rows"]) < 4 and shown["truncated"], len(shown["rows"]))


def test_options_of_the_program_hold_and_stay():
    pandas = need("pandas")
    frame = pandas.DataFrame({"a": range(100)})
    with pandas.option_context("display.max_rows", 4, "display.min_rows", 4):
        _, data = table(frame)
        tap.equal((data["text/plain"], pandas.get_option("display.max_rows")), (repr(frame), 4))


def test_a_wide_frame_loses_no_column_in_its_text():
    pandas = need("pandas")
    _, data = table(pandas.DataFrame({f"column number {number}": [number] for number in range(12)}))
    for number in range(12):
        tap.contains(data["text/plain"], f"column number {number}")


def test_odd_cells():
    pandas = need("pandas")
    import decimal
    shown, _ = table(pandas.DataFrame({"a": [2**60, -1], "b": [decimal.Decimal("1.10"), [1, "x"]], "c": [pandas.Timedelta(hours=1), pandas.NaT],
                                       "d": ["\ud800\0", b"\xff"], "e": pandas.array([1, None], dtype="Int64")}))
    tap.equal(shown["rows"], [[str(2**60), "1.10", "0 days 01:00:00", "?\ufffd", 1], [-1, "[1, 'x']", None, "b'\\xff'", None]])
    shown, _ = table(pandas.DataFrame([[1, 2]], columns=["same", "same"]))
    tap.equal(shown["rows"], [[1, 2]])


def test_a_frame_of_the_program_s_own_class():
    pandas = need("pandas")

    class Own(pandas.DataFrame):
        def __repr__(self):
            return "own"

    shown, data = table(Own({"a": [1]}))
    tap.equal((shown["rows"], data["text/plain"]), ([[1]], "own"))


def test_a_frame_that_fails_is_shown_as_another_object():
    pandas = need("pandas")

    class Fails(pandas.DataFrame):
        def _repr_html_(self):
            raise ValueError

    frame = Shown().value(Fails({"a": [1]}))
    tap.true("table" not in frame and "a" in frame["data"]["text/plain"], frame)


def test_polars():
    polars = need("polars")
    shown, data = table(polars.DataFrame({"a": [1, None], "b": ["x", "y"]}))
    tap.equal((shown["rows"], [column["type"] for column in shown["columns"]]), ([[1, "x"], [None, "y"]], ["Int64", "String"]))
    tap.contains(data["text/plain"], "shape: (2, 2)")
    with polars.Config(tbl_rows=-1):
        shown, data = table(polars.DataFrame({"a": range(10**6)}))
    tap.equal((len(shown["rows"]), shown["total_rows"]), (100, 10**6))
    tap.true(len(data["text/plain"]) < 100000, len(data["text/plain"]))
    tap.equal(table(polars.Series("s", [1, 2]))[0]["rows"], [[1], [2]])


def test_pyarrow():
    pyarrow = need("pyarrow")
    shown, _ = table(pyarrow.table({"a": list(range(1000)), "b": ["x"] * 1000}))
    tap.equal((shown["rows"][1], len(shown["rows"]), shown["total_rows"], shown["columns"][1]), ([1, "x"], 100, 1000, {"name": "b", "type": "string"}))


tap.run(globals())
