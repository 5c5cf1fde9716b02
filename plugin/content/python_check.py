# SPDX-License-Identifier: Apache-2.0
"""Reads a Python program by its syntax tree and says what it seems to import and use. Runs as the program of a sandbox of its own, by
the interpreter that is going to run what it reads, and executes none of that. In the working directory are rules.json and the texts
input/0, input/1, ...; the answer is one line of JSON on standard output (content_python.c). It sees what an approver should look at; a
program that was written to hide something can hide it."""
import ast
import io
import json
import os
import sys
import tokenize
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from constant_fold import Folder  # noqa: E402

FINDINGS = 64  # that are told; the rest is counted
NAME = 160     # characters of a name that is told
ROUNDS = 8     # of names given to names
TEXTS = 32     # that are given to exec and the like, and read as programs
NODES = 400000

IMPORTERS = {"builtins.__import__", "importlib.import_module", "importlib.__import__", "importlib.util.find_spec", "importlib.find_loader",
             "importlib._bootstrap._gcd_import", "importlib._bootstrap.__import__", "pkgutil.resolve_name", "pkgutil.find_loader",
             "pkgutil.get_loader", "pydoc.locate", "pydoc.safeimport", "runpy.run_module", "imp.load_module", "imp.find_module",
             "test.support.import_helper.import_module"}
# These load something that has no name to look at.
LOADERS = {"imp.load_source", "imp.load_dynamic", "imp.load_compiled", "importlib.util.spec_from_file_location",
           "importlib.util.module_from_spec", "importlib.machinery.ExtensionFileLoader", "importlib.machinery.SourceFileLoader",
           "importlib.machinery.SourcelessFileLoader", "importlib.machinery.BuiltinImporter", "importlib.machinery.PathFinder",
           "importlib.machinery.FrozenImporter", "runpy.run_path", "zipimport.zipimporter", "sys.meta_path", "sys.path_hooks"}
RUNNERS = {"builtins.exec", "builtins.eval", "builtins.compile", "code.interact", "code.InteractiveInterpreter", "timeit.timeit"}
GETTERS = {"builtins.getattr", "inspect.getattr_static"}
REACHED = {"os", "_os", "sys", "_sys", "subprocess", "importlib", "socket"}
# Texts name it: the names of a scope, of a module, of all modules.
SCOPES = {"builtins.globals", "builtins.locals", "builtins.vars", "builtins.dir"}


def printable(text):
    """Names come from a stranger, and are shown to people."""
    return text.encode("ascii", "backslashreplace").decode().replace("\x7f", "?")[:NAME] if text.isprintable() else ascii(text)[1:-1][:NAME]


def within(name, listed):
    """Is the module, or one that it is in, in the list?"""
    parts = name.split(".")
    return any(".".join(parts[:count]) in listed for count in range(1, len(parts) + 1))


class Rules:
    def __init__(self, given):
        self.forbidden = set(given["forbidden_modules"])
        self.allowed = None if given["allowed_modules"] is None else set(given["allowed_modules"])
        self.own = set(given["own_modules"])
        self.names = {name if "." in name else "builtins." + name for name in given["forbidden_names"]}
        self.any = bool(self.forbidden or self.names) or self.allowed is not None

    def of_module(self, name):
        """The rule that an import of that module is against, or None."""
        if within(name, self.forbidden):
            return "forbidden_module"
        top = name.split(".")[0]
        if self.allowed is None or within(name, self.allowed) or top == "__future__" or (top in self.own and top not in stdlib()):
            return None
        return "module_not_allowed"

    def guards(self, module):
        """Is something of that module forbidden?"""
        return module == "builtins" or any(name.startswith(module + ".") for name in self.names)


def stdlib():
    return getattr(sys, "stdlib_module_names", None) or frozenset(sys.builtin_module_names)


class Findings:
    def __init__(self):
        self.told, self.seen, self.more = [], set(), 0

    def add(self, place, rule, name):
        finding = (*place, rule, printable(name))
        if finding in self.seen:
            return
        self.seen.add(finding)
        if len(self.told) < FINDINGS:
            self.told.append(finding)
        else:
            self.more += 1


class Program:
    """One text and what it gives to exec and the like, with the names that are given to modules and to what is in them: of the whole
    text at once, whatever the scope and the order."""

    def __init__(self, file, tree, rules, findings):
        self.file, self.rules, self.findings = file, rules, findings
        self.nodes, self.places = [], {}  # nodes of all trees; where those stand that were in a text
        self.aliases, self.stars, self.texts = {}, set(), 0
        self.handled = set()  # nodes that are looked at with the one they are part of
        self.folder = Folder(self.resolve, {})
        self.add_tree(tree, None)

    def add_tree(self, tree, place):
        for node in ast.walk(tree):
            self.nodes.append(node)
            if place is not None:
                self.places[id(node)] = place
            if len(self.nodes) > NODES:
                raise MemoryError("too large")

    def place(self, node):
        return self.places.get(id(node)) or (self.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)

    # What is what.

    def bind(self, name, values):
        known = self.aliases.setdefault(name, set())
        grown = len(known)
        if grown < 32:
            known.update(value for value in values if len(value) < 256)
        return len(known) > grown

    def bind_target(self, target, value):
        if isinstance(target, ast.Name):
            return self.bind(target.id, self.resolve(value))
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)) and len(target.elts) == len(value.elts):
            return any([self.bind_target(*pair) for pair in zip(target.elts, value.elts)])
        return False

    def bind_imports(self, node):
        if isinstance(node, ast.Import):
            return any([self.bind(name.asname or name.name.split(".")[0], {name.name if name.asname else name.name.split(".")[0]})
                        for name in node.names])
        if node.level or not node.module:
            return False
        if any(name.name == "*" for name in node.names):
            self.stars.add(node.module)
        return any([self.bind(name.asname or name.name, {f"{node.module}.{name.name}"}) for name in node.names])

    def bind_once(self):
        grown = False
        for node in self.nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                grown |= self.bind_imports(node)
            elif isinstance(node, ast.Assign):
                grown |= any([self.bind_target(target, node.value) for target in node.targets])
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                grown |= self.bind_target(node.target, node.value)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                grown |= self.bind_defaults(node.args)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and isinstance(node.iter, (ast.Tuple, ast.List)):
                grown |= any([self.bind_target(node.target, value) for value in node.iter.elts[:64]])
        return grown

    def bind_defaults(self, arguments):
        named = arguments.args[len(arguments.args) - len(arguments.defaults):] if arguments.defaults else []
        return any([self.bind(argument.arg, self.resolve(value)) for argument, value in zip(named, arguments.defaults)])

    def find_constants(self):
        """Names with one value: assigned once, and bound in no other way."""
        counts, values = {}, {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                counts[node.id] = counts.get(node.id, 0) + 1
            elif isinstance(node, ast.arg):
                counts[node.arg] = counts.get(node.arg, 0) + 2
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = node.value
        self.folder.constants = {name: value for name, value in values.items() if counts.get(name) == 1}

    def resolve(self, node, depth=0):
        """Dotted names of what the expression may be; "builtins.eval", "os.system"."""
        if depth > 32:
            return set()
        method = getattr(self, "resolve_" + type(node).__name__, None)
        return method(node, depth + 1) if method is not None else set()

    def resolve_Name(self, node, _):
        if node.id in ("__builtins__", "builtins"):
            return {"builtins"} | self.aliases.get(node.id, set())
        return self.aliases.get(node.id, set()) | {"builtins." + node.id} | {f"{module}.{node.id}" for module in self.stars}

    def resolve_Attribute(self, node, depth):
        owners = self.resolve(node.value, depth)
        if node.attr == "__dict__":
            return owners
        return {canonical(f"{owner}.{node.attr}") for owner in owners}

    def resolve_NamedExpr(self, node, depth):
        return self.resolve(node.value, depth)

    def resolve_IfExp(self, node, depth):
        return self.resolve(node.body, depth) | self.resolve(node.orelse, depth)

    def resolve_BoolOp(self, node, depth):
        return set().union(*(self.resolve(value, depth) for value in node.values[:16]))

    def resolve_Subscript(self, node, depth):
        index = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
        if isinstance(node.value, (ast.Tuple, ast.List)):  # [eval][0]
            return set().union(*(self.resolve(value, depth) for value in node.value.elts[:16]))
        if isinstance(node.value, ast.Dict):
            return set().union(*(self.resolve(value, depth) for value in node.value.values[:16]))
        return self.member(node.value, self.folder.text(index), depth)

    def member(self, owner, name, depth):
        """owner[name], where owner is the names of something."""
        if name is None:
            return set()
        found = set()
        for whole in self.resolve(owner, depth):
            if whole in SCOPES or whole == "sys.modules":
                found |= {name} if whole == "sys.modules" else self.resolve(ast.Name(name, ast.Load()), depth)
            else:
                found.add(canonical(f"{whole}.{name}"))
        return found

    def resolve_Call(self, node, depth):
        found = set()
        for function in self.resolve(node.func, depth):
            first = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg == "name"), None)
            if function in IMPORTERS and first is not None:
                name = self.folder.text(first)
                if name:
                    name = name.replace(":", ".")
                    found |= {name.split(".")[0], name} if function == "builtins.__import__" else {name}
            elif function in GETTERS and len(node.args) > 1:
                found |= self.attribute(node.args[0], node.args[1], depth)
            elif function == "operator.attrgetter" and first is not None:
                found.add("operator.attrgetter:" + (self.folder.text(first) or "?"))
            elif function.startswith("operator.attrgetter:") and first is not None:
                found |= {canonical(f"{owner}.{function[20:]}") for owner in self.resolve(first, depth)}
            elif function == "builtins.vars" and first is not None:
                found |= self.resolve(first, depth)
            elif function in SCOPES or function in ("importlib.reload", "functools.partial"):
                found |= {function} if first is None else self.resolve(first, depth)
            elif function.endswith((".__getattribute__", ".__getitem__", ".get", ".pop")) and node.args:
                found |= self.attribute(node.func.value, node.args[-1 if function.endswith("ute__") else 0], depth) \
                    if isinstance(node.func, ast.Attribute) else set()
        return found

    def attribute(self, owner, name, depth):
        return self.member(owner, self.folder.text(name), depth)

    # Reading it.

    def settle(self):
        """Until nothing new is known: names, and the texts that are run."""
        for _ in range(ROUNDS):
            self.find_constants()
            if not self.bind_once() and not self.read_texts():
                return

    def read_texts(self):
        grown = False
        for node in list(self.nodes):
            if not isinstance(node, ast.Call) or id(node) in self.handled or not RUNNERS & self.resolve(node.func):
                continue
            text = self.folder.text(node.args[0]) if node.args else None
            if text is None or self.texts >= TEXTS:
                continue
            self.handled.add(id(node))
            self.texts += 1
            try:
                self.add_tree(ast.parse(text), self.place(node))
                grown = True
            except (SyntaxError, ValueError, RecursionError):
                continue  # it will not run either
        return grown

    def report(self):
        if self.rules.any:
            for node in self.nodes:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    self.report_import(node)
                elif isinstance(node, ast.Call):
                    self.report_call(node)
            for node in self.nodes:
                if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
                    self.report_use(node)

    def report_import(self, node):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif node.level:
            return
        else:
            names = [node.module]
            if self.rules.of_module(node.module) is None or self.rules.of_module(node.module) == "module_not_allowed":
                names = [f"{node.module}.{name.name}" if name.name != "*" else node.module for name in node.names]
                names = [name if self.rules.of_module(name) != "module_not_allowed" else node.module for name in names]
            for name in node.names:
                self.report_name(self.place(node), f"{node.module}.{name.name}")
        for name in names:
            self.report_module(self.place(node), name)

    def report_module(self, place, name):
        rule = self.rules.of_module(name)
        if rule is not None:
            self.findings.add(place, rule, name)

    def report_name(self, place, name):
        for forbidden in self.rules.names:
            if name == forbidden or name.startswith(forbidden + "."):
                self.findings.add(place, "forbidden_name", forbidden[9:] if forbidden.startswith("builtins.") else forbidden)

    def report_call(self, node):
        place = self.place(node)
        first = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg == "name"), None)
        for function in self.resolve(node.func):
            if function in IMPORTERS:
                self.handled.add(id(node.func))
                name = self.folder.text(first) if first is not None else None
                if name is None:
                    self.findings.add(place, "dynamic_import", short(function))
                elif not name.startswith("."):
                    self.report_module(place, name.replace(":", "."))
            elif function in RUNNERS:
                self.handled.add(id(node.func))
                compiled = isinstance(first, ast.Call) and "builtins.compile" in self.resolve(first.func)
                if not compiled and id(node) not in self.handled:
                    self.findings.add(place, "dynamic_code", short(function))
            elif function in GETTERS and len(node.args) > 1 and self.folder.text(node.args[1]) is None:
                self.report_hidden(place, node.args[0])

    def report_hidden(self, place, owner):
        for name in self.resolve(owner):
            if self.rules.guards(name):
                self.findings.add(place, "dynamic_attribute", name)

    def report_use(self, node):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            return
        place = self.place(node)
        for name in self.resolve(node):
            self.report_name(place, name)
            if name in LOADERS:
                self.findings.add(place, "dynamic_import", name)
            if isinstance(node, ast.Subscript) and name and "sys.modules" in self.resolve(node.value):
                self.report_module(place, name)
        if isinstance(node, ast.Subscript):
            self.report_subscript(place, node)
        if isinstance(node, ast.Attribute):
            self.report_reached(place, node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in self.handled:
            if node.id in ("exec", "eval", "compile") and not self.is_bound(node):
                self.findings.add(place, "dynamic_code", node.id)
            elif node.id == "__import__" and not self.is_bound(node):
                self.findings.add(place, "dynamic_import", node.id)

    def report_reached(self, place, node):
        """A module that another has imported for itself."""
        plain = {f"{owner}.{node.attr}" for owner in self.resolve(node.value)}
        for name in self.resolve(node) - plain - {"builtins"}:
            self.report_module(place, name)

    def is_bound(self, node):
        """Is it only given another name, which is followed?"""
        if not hasattr(self, "values"):
            self.values = {id(node.value) for node in self.nodes if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))}
        return id(node) in self.values

    def report_subscript(self, place, node):
        index = node.slice.value if type(node.slice).__name__ == "Index" else node.slice
        if self.folder.text(index) is not None:
            return
        for owner in self.resolve(node.value):
            if owner == "sys.modules":
                self.findings.add(place, "dynamic_import", "sys.modules")
            elif owner == "builtins":
                self.findings.add(place, "dynamic_attribute", owner)


def canonical(name):
    """Modules of the standard library that are members of others under their own name, and what is reached through them."""
    parts = name.split(".")
    if len(parts) > 1 and parts[-1] in ("__builtins__", "builtins"):
        return "builtins"
    if len(parts) > 1 and parts[-1] in REACHED and parts[0] != "builtins":
        return parts[-1].lstrip("_")
    return ".".join(parts[:16])


def short(function):
    return function[9:] if function.startswith("builtins.") else function


def check_encoding(index, source, findings):
    """A declared encoding makes another program of the text than the one that is shown."""
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0]
    except SyntaxError:
        encoding = "unknown"
    if encoding not in ("utf-8", "utf-8-sig", "iso-8859-1", "ascii", "us-ascii") or (encoding == "iso-8859-1" and not source.isascii()):
        findings.add((index, 1, 1), "declared_encoding", encoding)


def check_names(index, source, findings):
    """Identifiers that are read as others: Python takes compatible characters for one."""
    if source.isascii():
        return
    text = source.decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n")[:20000], 1):
        if not line.isascii() and any(unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
                                      for c in line):
            findings.add((index, number, 1), "hidden_direction", "bidirectional control")


def check(count, rules):
    findings = Findings()
    for index in range(count):
        with open(f"input/{index}", "rb") as file:
            source = file.read()
        check_encoding(index, source, findings)
        check_names(index, source, findings)
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            return {"parsed": False, "file": index, "line": max(error.lineno or 1, 1), "column": max(error.offset or 1, 1),
                    "reason": printable(error.msg or "syntax error")}
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return {"parsed": False, "file": index, "line": 1, "column": 1, "reason": printable(str(error) or type(error).__name__)}
        program = Program(index, tree, rules, findings)
        program.settle()
        program.report()
    told = [dict(zip(("file", "line", "column", "rule", "name"), finding)) for finding in sorted(findings.told)]
    return {"parsed": True, "findings": told, "more": findings.more}


def main():
    with open("rules.json", encoding="utf-8") as file:
        given = json.load(file)
    import warnings
    warnings.simplefilter("ignore")  # of what is read
    sys.stdout.write(json.dumps(check(given["inputs"], Rules(given))) + "\n")
    sys.stdout.flush()


main()
