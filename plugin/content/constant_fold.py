# SPDX-License-Identifier: Apache-2.0
"""What an expression of somebody's program must be, found out without running any of it: texts put together of constants by the
simple means that programs hide a name with. Beside python_check.py, in the sandbox of a content check. UNKNOWN is the honest answer
to everything else. Sizes and depths are bounded: the program may have been written to make this expensive."""
import ast
import base64
import binascii
import codecs

LIMIT = 65536  # characters of a text, members of a list
DEPTH = 40
UNKNOWN = object()

TEXT_METHODS = {"capitalize", "casefold", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "strip", "swapcase",
                "title", "upper", "encode", "decode", "hex", "split", "join", "format"}
DECODERS = {"base64.b64decode": base64.b64decode, "base64.standard_b64decode": base64.b64decode,
            "base64.urlsafe_b64decode": base64.urlsafe_b64decode, "base64.b32decode": base64.b32decode,
            "base64.b16decode": base64.b16decode, "base64.b85decode": base64.b85decode, "base64.decodebytes": base64.decodebytes,
            "binascii.unhexlify": binascii.unhexlify, "binascii.a2b_base64": binascii.a2b_base64, "codecs.decode": codecs.decode,
            "codecs.encode": codecs.encode, "builtins.bytes.fromhex": bytes.fromhex, "builtins.chr": chr, "builtins.str": str,
            "builtins.bytes": lambda value: bytes(value) if isinstance(value, (bytes, list)) else UNKNOWN,
            "builtins.ord": ord, "builtins.reversed": lambda value: value[::-1], "builtins.list": list, "builtins.tuple": list}
# The only codecs that a constant is passed to: others may decompress.
CODECS = {"ascii", "utf8", "utf-8", "latin1", "latin-1", "rot13", "rot_13", "rot-13", "hex", "base64"}


def fits(value):
    """Is it small enough to go on with?"""
    if isinstance(value, (str, bytes, list)):
        return len(value) <= LIMIT
    return value is UNKNOWN or (isinstance(value, int) and abs(value) < 1 << 64)


class Folder:
    """resolve: names what a function or module is, as python_check's Program.resolve does. constants: {name: expression} of names that
    are given one value in the whole program."""

    def __init__(self, resolve, constants):
        self.resolve, self.constants = resolve, constants
        self.work = 200000  # steps of all calls together

    def fold(self, node, depth=0):
        self.work -= 1
        if depth > DEPTH or self.work < 0:
            return UNKNOWN
        method = getattr(self, "fold_" + type(node).__name__, None)
        if method is None:
            return UNKNOWN
        try:
            value = method(node, depth + 1)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, MemoryError, RecursionError):
            return UNKNOWN
        return value if fits(value) else UNKNOWN

    def text(self, node):
        """The text that the expression must be, or None."""
        value = self.fold(node)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        return value if isinstance(value, str) else None

    def all(self, nodes, depth):
        values = [self.fold(node, depth) for node in nodes]
        return None if any(value is UNKNOWN for value in values) else values

    def fold_Constant(self, node, _):
        return node.value if isinstance(node.value, (str, bytes, int)) else UNKNOWN

    def fold_Name(self, node, depth):
        known = self.constants.get(node.id)
        return UNKNOWN if known is None else self.fold(known, depth)

    def fold_NamedExpr(self, node, depth):
        return self.fold(node.value, depth)

    def fold_List(self, node, depth):
        values = self.all(node.elts, depth)
        return UNKNOWN if values is None else values

    fold_Tuple = fold_List

    def fold_JoinedStr(self, node, depth):
        parts = self.all(node.values, depth)
        return UNKNOWN if parts is None else "".join(map(str, parts))

    def fold_FormattedValue(self, node, depth):
        if node.format_spec is not None or node.conversion not in (-1, 115):
            return UNKNOWN
        return self.fold(node.value, depth)

    def fold_UnaryOp(self, node, depth):
        value = self.fold(node.operand, depth)
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int) else UNKNOWN

    def fold_BinOp(self, node, depth):
        values = self.all((node.left, node.right), depth)
        if values is None:
            return UNKNOWN
        left, right = values
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.BitXor):
            return left ^ right
        if isinstance(node.op, ast.Mod) and isinstance(left, str) and len(left) < 256 and not any(c in left for c in "*0123456789"):
            return left % (tuple(right) if isinstance(right, list) else right)
        if isinstance(node.op, ast.Mult) and isinstance(left, int) != isinstance(right, int):
            count, text = (left, right) if isinstance(left, int) else (right, left)
            return text * count if count * len(text) <= LIMIT else UNKNOWN
        return UNKNOWN

    def fold_Subscript(self, node, depth):
        value, index = self.fold(node.value, depth), node.slice
        if value is UNKNOWN or isinstance(value, int):
            return UNKNOWN
        if type(index).__name__ == "Index":  # before Python 3.9
            index = index.value
        if isinstance(index, ast.Slice):
            bounds = [None if part is None else self.fold(part, depth) for part in (index.lower, index.upper, index.step)]
            return UNKNOWN if UNKNOWN in bounds else value[slice(*bounds)]
        index = self.fold(index, depth)
        return UNKNOWN if index is UNKNOWN else value[index]

    def fold_Call(self, node, depth):
        if node.keywords:
            return UNKNOWN
        arguments = self.all(node.args, depth)
        if arguments is None:
            return self.fold_mapped(node, depth)
        if isinstance(node.func, ast.Attribute) and node.func.attr in TEXT_METHODS:
            owner = self.fold(node.func.value, depth)
            if isinstance(owner, (str, bytes)):
                return self.call_method(owner, node.func.attr, arguments)
        for name in self.resolve(node.func):
            if name in DECODERS:
                return self.call_decoder(name, arguments)
        return UNKNOWN

    def fold_mapped(self, node, depth):
        """map(chr, [111, 115])"""
        if len(node.args) != 2 or "builtins.map" not in self.resolve(node.func) or "builtins.chr" not in self.resolve(node.args[0]):
            return UNKNOWN
        values = self.fold(node.args[1], depth)
        return UNKNOWN if values is UNKNOWN else [chr(value) for value in values]

    def fold_GeneratorExp(self, node, depth):
        """chr(c) for c in [111, 115], and the like with one plain loop."""
        if len(node.generators) != 1 or node.generators[0].ifs or not isinstance(node.generators[0].target, ast.Name):
            return UNKNOWN
        loop, values = node.generators[0], self.fold(node.generators[0].iter, depth)
        if values is UNKNOWN or len(values) > 256:
            return UNKNOWN
        inner = Folder(self.resolve, dict(self.constants))
        inner.work = self.work
        made = []
        for value in values:
            inner.constants[loop.target.id] = ast.Constant(value)
            made.append(inner.fold(node.elt, depth))
        self.work = inner.work
        return UNKNOWN if UNKNOWN in made else made

    fold_ListComp = fold_GeneratorExp

    @staticmethod
    def call_method(owner, name, arguments):
        if name in ("encode", "decode") and not all(str(argument).lower() in CODECS for argument in arguments[:1]):
            return UNKNOWN
        if name == "format" and (len(owner) > 256 or ":" in owner or "." in owner or "[" in owner):
            return UNKNOWN
        if name == "replace" and len(owner) * (len(arguments[1]) + 1) > LIMIT:
            return UNKNOWN
        if name == "join" and sum(len(part) + len(owner) for part in arguments[0]) > LIMIT:
            return UNKNOWN
        return getattr(owner, name)(*arguments)

    @staticmethod
    def call_decoder(name, arguments):
        if name.startswith("codecs.") and (len(arguments) != 2 or str(arguments[1]).lower() not in CODECS):
            return UNKNOWN
        if name in ("builtins.str", "builtins.chr", "builtins.ord", "builtins.bytes", "builtins.reversed") and len(arguments) != 1:
            return UNKNOWN
        return DECODERS[name](*arguments)
