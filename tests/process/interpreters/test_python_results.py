# SPDX-License-Identifier: Apache-2.0
"""What a Python program shows of its values, as our runner writes it: in this interpreter, with a pipe."""
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import tap

import python_expressions
from languages.shown import EXCEPTION, OMITTED, RESULT, Shown, load


def text_of(value):
    return Shown().value(value)["data"]["text/plain"]


def test_texts_are_as_python_writes_them():
    class Thing:
        pass
    itself = [1]
    itself.append(itself)
    by_key = {}
    by_key["key"] = by_key
    for value in (1, True, 1.5, "1", "a'b", b"x", "\ud800\0é", (1,), (), [], [1, "1"], {}, {"a": [None]}, set(), {1}, frozenset(), frozenset({1}),
                  {1: 2}.keys(), {1: 2}.values(), {1: 2}.items(), range(3), Thing, Thing(), len, itself, by_key, float("nan"), 2**80):
        tap.equal(text_of(value), repr(value))


def test_a_number_and_its_text_differ():
    number, text = Shown().value(1), Shown().value("1")
    tap.equal((number["data"], number["type_name"]), ({"text/plain": "1", "application/json": 1}, "int"))
    tap.equal((text["data"], text["type_name"]), ({"text/plain": "'1'", "application/json": "1"}, "str"))


def test_only_what_json_can_say_is_json():
    for value in (True, 0, -5, 1.5, 1e300, "\n\x1f\x7f\"\\é", [1, [2]], {"a": {"b": None}}, 2**53 - 1):
        tap.equal(Shown().value(value)["data"]["application/json"], value)
    deep = []
    for _ in range(60):
        deep = [deep]
    for value in (float("nan"), float("inf"), [float("-inf")], 2**53, (1,), {1: 2}, {"a": {1}}, "\ud800", "\0", deep, [0] * 10001):
        tap.true("application/json" not in Shown().value(value)["data"], repr(value)[:80])


def test_nothing_is_nothing():
    tap.equal(Shown().tell(), [])


def test_large_values_are_cut_before_they_are_written():
    class Counted:
        made = 0

        def __repr__(self):
            Counted.made += 1
            return "x" * 1000

    text = text_of([Counted()] * 10**6)
    tap.true(Counted.made < 1100 and len(text) <= 1 << 20 and text.endswith("..."), (Counted.made, len(text)))
    tap.contains(text_of(list(range(10**7))), "9999, ... (10000000 in all)]")
    tap.contains(text_of("x" * 10**7), "... (10000000 in all)")
    tap.equal(text_of(10**10000), f"<int of {(10**10000).bit_length()} bits>")
    deep = []
    for _ in range(5000):
        deep = [deep]
    tap.contains(text_of(deep), "[[[...]]]")


def test_a_repr_that_fails_is_said():
    class Fails:
        def __repr__(self):
            raise ValueError

    class Recurs:
        def __repr__(self):
            return repr(self)

    class Exits:
        def __repr__(self):
            sys.exit(3)

    tap.contains(text_of(Fails()), "its repr() raised ValueError")
    tap.contains(text_of([Fails()]), "its repr() raised ValueError")
    tap.contains(text_of(Recurs()), "its repr() raised RecursionError")
    tap.equal(Shown().tell(Exits()), [], "an exit within a repr()")


def test_display_shows_the_forms_of_an_object():
    class Rich:
        def _repr_mimebundle_(self, **_):
            return {"text/html": "<b>bundle</b>", "application/x-other": "x"}, {"metadata": 1}

        def _repr_html_(self):
            return "not asked"

        def _repr_png_(self):
            return b"\x89PNG"

        def _repr_svg_(self):
            raise ValueError

        def _repr_markdown_(self):
            return "*x*"

        def _repr_json_(self):
            return {"a": 1}

        def __repr__(self):
            return "rich"

    [(kind, frame)] = Shown().display(Rich())
    tap.equal(kind, RESULT)
    tap.equal(frame["role"], "display")
    tap.equal(frame["data"], {"text/html": "<b>bundle</b>", "image/png": "iVBORw==", "text/markdown": "*x*", "application/json": {"a": 1},
                              "text/plain": "rich"})


def test_objects_that_have_every_attribute_are_not_asked():
    class Any:
        def __getattr__(self, name):
            return lambda *a: "wrong"

    tap.equal(sorted(Shown().value(Any())["data"]), ["text/plain"])
    tap.equal(sorted(Shown().value(Any)["data"]), ["text/plain"])


def test_raw_bundles():
    [(_, frame)] = Shown().display({"text/html": "<p>", "text/plain": 5}, raw=True)
    tap.equal(frame["data"], {"text/html": "<p>"})


def test_limits_are_said():
    shown = Shown()
    frames = shown.display(*range(80)) + shown.tell()
    tap.equal(sum(kind == RESULT for kind, _ in frames), 64)
    omitted = [frame for kind, frame in frames if kind == OMITTED]
    tap.equal({frame["reason"] for frame in omitted}, {"max_items"})
    tap.equal(sum(frame["count"] for frame in omitted), 16)

    class Large:
        def _repr_html_(self):
            return "x" * (1 << 21)

    frames = Shown().display(Large())
    tap.equal([(kind, frame.get("reason")) for kind, frame in frames], [(OMITTED, "text_bytes"), (RESULT, None)])
    tap.true("text/html" not in frames[1][1]["data"], "what is too long is not written")


def test_an_exception():
    def fail():
        raise ValueError("x" * 10**5)
    try:
        fail()
    except ValueError as error:
        [(kind, frame)] = Shown().tell(None, error)
    tap.equal((kind, frame["name"], len(frame["value"])), (EXCEPTION, "ValueError", 8192))
    tap.equal([(place["function"], place["file"]) for place in frame["frames"]], [("test_an_exception", __file__), ("fail", __file__)])


def test_frames_of_the_library_are_left_out():
    try:
        json.loads("{")
    except ValueError as error:
        [(_, frame)] = Shown().tell(None, error)
    tap.equal((frame["name"], len(frame["frames"])), ("json.decoder.JSONDecodeError", 1))


def test_a_deep_traceback_is_cut_in_its_middle():
    def deeper(level):
        return deeper(level + 1)
    try:
        deeper(0)
    except RecursionError as error:
        [(_, frame)] = Shown().tell(None, error)
    tap.equal((len(frame["frames"]), frame["frames"][0]["function"]), (50, "test_a_deep_traceback_is_cut_in_its_middle"))


def test_another_file_in_the_channel_s_place_is_spared():
    shown = Shown()
    reader, writer = os.pipe()
    os.dup2(writer, shown.writer)
    tap.equal(shown.tell(1), [])
    os.set_blocking(reader, False)
    try:
        tap.true(not os.read(reader, 1), "the program's own pipe was written to")
    except BlockingIOError:
        pass


def test_a_child_does_not_speak_for_the_program():
    shown = Shown()
    pid = os.fork()
    if pid == 0:
        shown.names["tell"](1, None)
        os._exit(0)
    tap.equal(os.waitpid(pid, 0)[1], 0)
    tap.equal(shown.tell(), [])


def test_only_the_object_suffers_where_asking_it_fails():
    class Kind(type):
        def __getattr__(cls, name):
            raise ValueError(name)

    class Wrong(metaclass=Kind):
        def __repr__(self):
            return "wrong"

    class Types:
        _repr_html_ = property(lambda self: 1 / 0)

        def _repr_mimebundle_(self, **_):
            return [1, 2]

        def _repr_png_(self):
            return 5

        def _repr_svg_(self):
            return b"<svg>"

        def _repr_markdown_(self):
            return {}

        def _repr_json_(self):
            return {1: object()}

        def __repr__(self):
            return "types"

    frames = Shown().display(Wrong(), Types(), 1)
    tap.equal([frame["data"]["text/plain"] for _, frame in frames], ["wrong", "types", "1"])
    tap.equal([sorted(frame["data"]) for _, frame in frames[:2]], [["text/plain"]] * 2)


def test_nothing_is_imported():
    before = set(sys.modules)
    shown = Shown()
    shown.tell({"a": [1]}, ValueError("x"))
    tap.equal(set(sys.modules) - before, set())


NO_VALUE = object()


def value_of(source):
    names = {"__name__": "program"}
    program_code = load("program_code")
    exec(program_code["compile_program"](source.encode(), "main.py"), names)
    return names.pop(program_code["VALUE_NAME"], NO_VALUE), names


def test_the_last_expression_has_a_value():
    for source, value in (("1+1", 2), ("x = 5; x", 5), ("import os; os.sep", "/"), ("x = 5\nx # comment\n# more\n\n", 5), ("(1,\n2)", (1, 2)),
                          ("x = 1\n(\nx\n)\n", 1), ("sorted([3,\n1])", [1, 3]), ("def f(a=1):\n    return a\nf(a=5)", 5), ("str('''\nfrom x\n''')", "\nfrom x\n"),
                          ("x = [1]\nx[0] == 1", True), ("x = 1\nx != 1", False), ("'a'; 'b'", "b"), ("'''text'''", "text"), ("'''text'''\n1", 1),
                          ("# coding: latin-1\nlen('\xe4')", 2), ("x = 3\r\nx\r\n", 3),
                          ("dict(a=1)", {"a": 1}), ("-1", -1), ("[n for n in range(2)]", [0, 1]), ("'é', 'ü'", ("é", "ü"))):
        tap.equal(value_of(source)[0], value, source)


def test_other_ends_have_none():
    for source in ("", "# only", "x = 1", "1;", "x = 1\nx; # silent", "(1);", "'é'; 'ü';", "for i in [1]: i", "if 1: 5", "x = '''\n1\n'''", "def f(): 1",
                   "import os", "x = [\n1\n]", "pass"):
        tap.true(value_of(source)[0] is NO_VALUE, source)


def test_the_module_keeps_its_text():
    tap.equal(value_of("'''text'''")[1]["__doc__"], "text")
    tap.equal(value_of("'''text'''\n5")[1]["__doc__"], "text")


def test_the_future_is_the_program_s():
    value, _ = value_of("from __future__ import annotations\ndef f(a: Missing): pass\nf.__annotations__")
    tap.equal(value, {"a": "Missing"})


def test_positions_are_those_of_the_program():
    source = "x = 1\nprint; 1 / (\nx - 1)\n"
    for compiled in compile(source, "main.py", "exec"), load("program_code")["compile_program"](source.encode(), "main.py"):
        try:
            exec(compiled, {})
        except ZeroDivisionError as error:
            trace = error.__traceback__.tb_next
            positions = list(compiled.co_positions())[trace.tb_lasti // 2] if hasattr(compiled, "co_positions") else trace.tb_lineno
            tap.equal(positions, (2, 3, 7, 6) if hasattr(compiled, "co_positions") else 2)


def test_an_expression_is_compiled_as_any_program():
    comparison = python_expressions.Comparison(load("program_code"))
    tap.equal(comparison.differences([*python_expressions.EXPRESSIONS, *python_expressions.OTHERS]), [])
    tap.equal(comparison.expressions, {source.encode() for source in python_expressions.EXPRESSIONS})
    before = len(comparison.expressions)
    tap.equal(comparison.differences(python_expressions.any_sources(20000)), [])
    tap.true(len(comparison.expressions) > before + 500, len(comparison.expressions))


def test_the_comparison_sees_what_differs():
    careless = python_expressions.load()
    careless["is_plain"] = lambda line: True
    found = {source for source, *_ in python_expressions.Comparison(careless).differences(python_expressions.OTHERS)}
    tap.true(found >= {b"'text'", b"1.e1if x", b"x is 1, (yield)"}, found)


tap.run(globals())
