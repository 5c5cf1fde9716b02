# SPDX-License-Identifier: Apache-2.0
"""Compares the two ways in which a cell is compiled (program_code.py): as one expression, and as any program. As a script, in the Python
that runs it, it prints each difference, and last how many sources were compiled as an expression."""
import pathlib
import random
import sys
import warnings

SCRIPT = pathlib.Path(__file__).parents[3] / "plugin/interpreter/python/program_code.py"
PLACE = ("lineno", "offset", "end_lineno", "end_offset", "text")  # of a SyntaxError
PATH, TOP_LEVEL_AWAIT, COROUTINE = "/tmp/cell-1.py", 0x2000, 0x80
EXPRESSIONS = ("x+1", "x", "f()", "f(x, 10) + y[1]", "x.real\n", "1.5", "...", "{x, 2}", "(x,)", "x,", "-x ** 2", "x  \n\n", "None",
               "x\t+ 1", "0 / x", "x < 3 > 1", "1(2)", "y.missing", "missing", "[].append(x)", "f(*y)", "~x")
OTHERS = ("x = 1", "y[0] = 1", "x := 1", "(x := 1)", "x;", "x # why", " x", "\tx", "(x\n+1)", "x\\\n+1", "'text'", "f'{x}'",
          "x if x else y", "x is 1", "1if x else y", "0x1for x", "1.e1if x", "2jor x", "(yield)", "x is 1, (yield)", "await g()",
          "[x async for x in a()]", "lambda: x", "[i for i in y]", "*y, 1", "*y", "print(x)", "__debug__", "(__debug__ := 1)", "f(a=1)",
          "y[0:1]", "import os", "é", "\0x", "x\fy", "x\ry", "x.__class__\r\n", "", "\n", "x y", "y[0](", "(" * 300 + ")" * 300,
          "x" * 501, "type X", "match x")
PIECES = (*"xy1()[]{},+-*~<>!=:#;$@_0", "x.y", "1.", "0x1", "2j", "1e", "e1", "00", "07", "1_0", "...", " ", "  ", "\t", "\n", "\f",
          "'a'", "is", "if", "else", "and", "or", "not", "in", "for", "await", "yield", "async", "lambda", "lambda:", "print",
          "__debug__", "None", "é", "type ", "match ", "del", "pass", "x(", "x[", "1(", "1[")


def load():
    names = {}
    exec(compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec"), names)
    return names


class Thing:
    """What evaluates anything else than a number would take."""
    real = "real"

    def __call__(self, *arguments):
        return arguments


def result_of(code, value_name):
    """The value, or the exception with its place."""
    names = {"x": 3, "y": [1, 2, 3], "f": Thing(), "print": Thing()}
    try:
        result = eval(code, names)
        value = names.pop(value_name, None) if result is None else result
        told = repr(value) if " at 0x" not in repr(value) else type(value).__name__
    except BaseException as error:
        trace = error.__traceback__.tb_next
        place = list(code.co_positions())[trace.tb_lasti // 2] if trace and hasattr(code, "co_positions") else trace and trace.tb_lineno
        told = type(error).__name__, str(error), place
    del names["__builtins__"]
    return told, sorted(names), names.get("__doc__")


def outcome(compile_it, source, value_name):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            code = compile_it(source)
        except BaseException as error:
            told = [type(error).__name__, str(error), *(getattr(error, name, None) for name in PLACE)]
        else:
            told = [code.co_name, code.co_filename, code.co_firstlineno, code.co_flags]
            if not code.co_flags & COROUTINE:  # that one is not awaited here
                told.append(result_of(code, value_name))
    return told, [(str(warning.message), warning.category.__name__, warning.filename, warning.lineno) for warning in warned]


class Comparison:
    def __init__(self, names):
        self.names, self.expressions = names, set()

    def as_program(self, source):
        return self.names["compile_program"](source, PATH, TOP_LEVEL_AWAIT)

    def as_cell(self, source):
        """As class Session does."""
        code = self.names["compile_expression"](source, PATH, TOP_LEVEL_AWAIT)
        if code is not None:
            self.expressions.add(source)
        return code or self.as_program(source)

    def difference(self, source):
        """None: there is none."""
        both = [outcome(compile_it, source, self.names["VALUE_NAME"]) for compile_it in (self.as_program, self.as_cell)]
        return None if both[0] == both[1] else (source, *both)

    def differences(self, sources):
        return [found for found in (self.difference(source.encode()) for source in sources) if found is not None]


def any_sources(count, seed=1):
    generator = random.Random(seed)
    return ["".join(generator.choices(PIECES, k=generator.randint(1, 6))) for _ in range(count)]


def main():
    comparison = Comparison(load())
    for difference in comparison.differences([*EXPRESSIONS, *OTHERS, *any_sources(20000)]):
        print(*difference, sep="\n  ")
    print(len(comparison.expressions))


if __name__ == "__main__":
    sys.exit(main())
