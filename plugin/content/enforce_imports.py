# Behind a line that gives RULES (content_imports.c). SPDX-License-Identifier: Apache-2.0
"""The first program of a run whose policy enforces a list of modules at import: it lets what the list does not have fail with an
ImportError that says so, and becomes the program. No isolation: a program that means to get at a module gets at it."""


def _start(rules):
    import builtins
    import importlib
    import os
    import sys

    own_path = os.path.abspath(__file__)
    directory = os.path.dirname(own_path)
    path = os.path.join(directory, rules["program"])
    allowed, forbidden = frozenset(rules["allowed"]), frozenset(rules["forbidden"])
    # Files that came with the request, but none that stands in the place of a module that is there.
    known = frozenset(getattr(sys, "stdlib_module_names", sys.builtin_module_names)) | frozenset(sys.modules)
    own = frozenset(rules["own"]) - known | {"__future__", "__main__"}
    # Python's own, for what it does itself at run time: strptime(), "\N{BULLET}", pickles, warnings.
    internal = frozenset(("_strptime", "unicodedata", "copyreg", "_compat_pickle", "encodings", "warnings", "linecache", "traceback"))
    trusted = tuple(os.path.join(os.path.abspath(entry), "") for entry in sys.path + [sys.prefix, sys.base_prefix]
                    if entry and os.path.abspath(entry) not in (directory, "/"))
    from opcode import opmap
    import_statement = opmap["IMPORT_NAME"]
    real_import, real_import_module = builtins.__import__, importlib.import_module

    def within(name, listed):
        parts = name.split(".")
        return any(".".join(parts[:count]) in listed for count in range(1, len(parts) + 1))

    def is_allowed(name):
        return not within(name, forbidden) and (within(name, allowed) or name.split(".")[0] in own)

    def may_import(name, parts):
        """The module, or at least all that is taken from it."""
        return is_allowed(name) or bool(parts) and not within(name, forbidden) and all(is_allowed(f"{name}.{part}") for part in parts)

    def is_trusted(frame):
        """Modules that are installed import what they need."""
        name = frame.f_code.co_filename
        return name == own_path or name.startswith("<frozen ") or \
            name.startswith(trusted) and not name.startswith(os.path.join(directory, ""))

    def refuse(name):
        raise ImportError(f"import of {name!r} is not allowed: it is not in the policy's list (content_checks, allowed_modules)",
                          name=name)

    def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
        frame = sys._getframe(1)
        if level == 0 and isinstance(name, str) and not is_trusted(frame) and not may_import(name, fromlist):
            if frame.f_code.co_code[frame.f_lasti] == import_statement or name not in internal:
                refuse(name)
        return real_import(name, globals, locals, fromlist, level)

    def import_module(name, package=None):
        if not name.startswith(".") and not is_trusted(sys._getframe(1)) and not is_allowed(name):
            refuse(name)
        return real_import_module(name, package)

    class Finder:
        """For what is imported in other ways, and is not there yet."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            frame = sys._getframe(1)
            while frame is not None and (frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_code in own_code):
                frame = frame.f_back
            parent = any(entry.startswith(name + ".") for entry in allowed)
            if frame is not None and not parent and not is_trusted(frame) and not is_allowed(name) and name not in internal:
                refuse(name)

    own_code = {guarded_import.__code__, import_module.__code__}
    main = sys.modules["__main__"]
    namespace = main.__dict__
    with open(path, "rb") as file:
        source = file.read()
    os.unlink(own_path)
    # As if the program had been named on the command line.
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = [rules["program"] if argument == sys.argv[0] else argument for argument in sys.orig_argv]
    sys.argv[0] = os.path.join(os.path.dirname(sys.argv[0]), rules["program"])
    main.__loader__ = type(main.__loader__)("__main__", path)
    main.__file__, main.__doc__ = path, None
    del namespace["_start"], namespace["RULES"]

    def without_us(traceback):
        while traceback is not None and traceback.tb_frame.f_code.co_filename == own_path:
            traceback = traceback.tb_next
        return traceback

    try:
        code = compile(source, path, "exec", dont_inherit=True)
        importlib.import_module, builtins.__import__ = import_module, guarded_import
        importlib.__import__ = guarded_import
        sys.meta_path.insert(0, Finder)
        exec(code, namespace)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        error.__traceback__ = without_us(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


_start(RULES)  # noqa: F821
