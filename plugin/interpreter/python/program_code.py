# SPDX-License-Identifier: Apache-2.0
"""Compiles a program so that the value of its last expression is kept. The last statement, where it is an expression, becomes an
assignment to a name that no program can write; everything else is as Python compiles it: the same positions, one code object, one
frame. main_run.c takes the name away before anything else of the program's can run."""

VALUE_NAME = " value"  # main_run.c
ONLY_TREE = 0x400  # PyCF_ONLY_AST, without the module ast
STATEMENTS = frozenset((b"print", b"def", b"class", b"for", b"while", b"if", b"with", b"try", b"import", b"from", b"return", b"else",
                        b"elif", b"except", b"finally", b"assert", b"del", b"pass", b"raise", b"async", b"global", b"nonlocal"))

EXPRESSION_LIMIT = 500  # bytes
BLANKS = bytes(number if chr(number).isalnum() or chr(number) in "_." else ord(" ") for number in range(128)) + bytes(range(128, 256))
NOT_PLAIN = frozenset(b"\n\r\f\0\\\"'#;:=")
KEYWORDS = STATEMENTS | {b"and", b"or", b"not", b"in", b"is", b"if", b"lambda", b"await", b"yield", b"break", b"continue", b"__debug__"}


def last_line(source):
    """That begins in the first column; it is where the last statement begins, unless that has a line there within brackets or a text."""
    end = len(source)
    while end > 0:
        begin = source.rfind(b"\n", 0, end - 1) + 1
        if source[begin:begin + 1].strip() and source[begin] not in b"#)]}":
            return source[begin:]
        end = begin
    return b""


def assigns(line):
    """name = ..., and the same for attributes, items and operators such as +=."""
    before, sign, after = line.partition(b"=")
    return bool(sign) and not after.startswith(b"=") and not before.endswith((b"!", b"<", b">", b":")) and not set(before) & set(b"([{'\"#")


def has_no_value(source):
    """Most programs end with print() or with no expression. A wrong answer costs time, or a value within a text of many lines."""
    line = last_line(source)
    if b'"""' in line or b"'''" in line or b";" in line:
        return False
    word = line[:10].split(b" ")[0].split(b"(")[0].split(b":")[0].strip()
    return word in STATEMENTS or assigns(line)


def is_silenced(source, statement):
    """As in a notebook, by a semicolon at the end."""
    lines = source.splitlines()
    return lines[statement.end_lineno - 1][statement.end_col_offset:].lstrip().startswith(b";")


def set_place(node, of):
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = of.lineno, of.col_offset, of.end_lineno, of.end_col_offset


def an_assignment(known=[]):
    """Made once: the tree that it is in has been compiled before the next use."""
    if not known:
        known += compile("name = 0", "", "exec", ONLY_TREE, dont_inherit=True).body
        known[0].targets[0].id = VALUE_NAME
    return known[0]


def keep_value(tree, source):
    """The text that documents the module stays where it is."""
    last = tree.body[-1] if tree.body else None
    if type(last).__name__ != "Expr" or is_silenced(source, last):
        return
    assignment = an_assignment()
    assignment.value = last.value
    for node in assignment, assignment.targets[0]:
        set_place(node, last.value)
    if len(tree.body) == 1 and type(last.value).__name__ == "Constant" and type(last.value.value) is str:
        tree.body.append(assignment)
    else:
        tree.body[-1] = assignment


def may_warn(word):
    """Python warns of a number with letters right behind it."""
    return not word.replace(b".", b"").isdigit() and any([part[:1].isdigit() for part in word.split(b".")])


def is_plain(line):
    """One line of names, numbers, brackets and operators, without a keyword or a text. Compiling it warns of nothing before it fails, so
    that another compilation may follow, and it cannot document the module."""
    words = line.translate(BLANKS)
    return (0 < len(line) <= EXPRESSION_LIMIT and line.isascii() and not line[:1].isspace() and NOT_PLAIN.isdisjoint(line) and
            KEYWORDS.isdisjoint(words.replace(b".", b" ").split()) and not any(map(may_warn, words.split())))


def compile_expression(source, path, flags=0):
    """The code of a program that is one plain expression. Its result is the value, no tree is made, and nothing else differs from what
    compile_program() makes of it. None: it is another program."""
    line = source.rstrip(b"\n")
    if not is_plain(line):
        return None
    try:
        return compile(line, path, "eval", flags, dont_inherit=True)
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):  # compile_program() says what is wrong
        return None


def compile_program(source, path, flags=0):
    """Fails as compile() does."""
    if has_no_value(source):
        return compile(source, path, "exec", flags, dont_inherit=True)
    try:
        tree = compile(source, path, "exec", ONLY_TREE | flags, dont_inherit=True)
        keep_value(tree, source)
        return compile(tree, path, "exec", flags, dont_inherit=True)
    except (MemoryError, RecursionError, TypeError, ValueError):  # a tree has more limits than a program
        return compile(source, path, "exec", flags, dont_inherit=True)
