# SPDX-License-Identifier: Apache-2.0
"""Begins every Python of a run at the end of its own start, before it has looked at its program: Python imports a module of this name
then (site). The run may be there already, or waiting.py waits for it. What this module changes is put back before the program begins;
no name of it is left."""


class _Runner:
    """Runs the program by code of ours (main_run.c), which tells its results."""

    import os
    import sys

    RESULTS_FD, TOOLS_FD = 63, 62  # run_description.h
    has_tools = False  # of the run: then imports.py offers the module "tools"
    moved = False  # Python's main has another name for the program's directory, which nobody is to see

    def __init__(self):
        import _frozen_importlib_external
        self.importlib = _frozen_importlib_external
        self.directory = self.os.path.dirname(__file__)
        self.extension, self.pipe, self.is_session, self.parts, self.sources, self.own_code = None, None, False, {}, {}, None
        sys = self.sys
        installers = self.directory + "/installers"  # for the Pythons that the program starts
        sys.path[:] = [entry for entry in sys.path if entry not in (self.directory, installers)]
        sys.path_importer_cache.pop(self.directory, None)
        sys.path_importer_cache.pop(installers, None)

    def load_extension(self):
        import _frozen_importlib
        import _imp
        path = self.directory + "/code_execute_python.so"
        loader = self.importlib.ExtensionFileLoader("code_execute_python", path)
        self.extension = _imp.create_dynamic(_frozen_importlib.ModuleSpec("code_execute_python", loader, origin=path))
        self.sys.modules.pop("code_execute_python", None)

    def find(self, name):
        return self.importlib.PathFinder.find_spec(name, self.sys.path)

    def keep_code(self, spec, name):
        """Ahead of a run: the code of the module that stands in this one's place. One that has none fails in the run."""
        if spec is not None and type(spec.loader) is self.importlib.SourceFileLoader:
            try:
                self.own_code = spec.loader.get_code(name)
            except Exception:
                pass

    def read(self, part):
        with open(f"{self.directory}/{part}.py", "rb") as file:
            self.sources[part] = file.read()

    def load(self, part):
        """The names of a file beside this one, which finds the others by this function."""
        if part not in self.parts:
            if part not in self.sources:
                self.read(part)
            names = self.parts[part] = {"__name__": part, "load": self.load}
            exec(self.code_of(part), names)
        return self.parts[part]

    def code_of(self, part):
        """It may have been compiled already."""
        source = self.sources.pop(part)
        return source if type(source) is not bytes else compile(source, f"{self.directory}/{part}.py", "exec")

    def load_all(self):
        """Once the run is there, the files may be out of reach. Those for libraries are only read where their library is not there."""
        self.load("imports")
        self.read("session")
        for part in "tools", "tool_channel":  # most runs have no tools: nothing of these is executed
            self.read(part)
            self.sources[part] = self.code_of(part)
        self.load("program_code")["compile_program"](b"0", "")  # Python makes the classes of syntax trees at their first use
        results = self.load("results")
        results["rehearse"]()
        for library, part in results["NEEDED"]:
            if library in self.sys.modules:
                self.load(part)
            elif part not in self.parts:
                self.read(part)

    def results(self):
        results = self.load("results")
        results["channel"].use(self.RESULTS_FD, self.pipe)
        return results

    def display(self, *objects, **options):
        """Shows each object in the richest form that it has."""
        self.results()["display"](*objects, **options)

    def tell(self, value, error):
        if value is not None or error is not None or "results" in self.parts:
            self.results()["tell"](value, error)

    def load_main(self):
        """The program's code, or what is wrong with it; None where Python shall run it, which then reports that. Python's main has
        just opened the program, behind the three descriptors of a run."""
        os, sys = self.os, self.sys
        if self.is_session:
            os.close(3)  # an empty program
            return self.load("session")["Session"](self, self.extension.take_cell).functions()
        if sys.argv[0] in ("-c", "-m") or sys.flags.inspect or "PYTHONINSPECT" in os.environ:
            return None
        try:
            path = os.path.join(os.getcwd(), sys.argv[0])
            with open(path, "rb") as file:
                if not os.path.sameopenfile(3, file.fileno()):
                    return None
                code = self.load("program_code")["compile_program"](file.read(), path)
        except SyntaxError as error:
            if self.moved:
                os.close(3)
                return error.with_traceback(None)
            self.tell(None, error.with_traceback(None))
            return None
        except Exception:
            return None
        os.close(3)
        loader = self.importlib.SourceFileLoader("__main__", path)
        sys.modules["__main__"].__dict__.update(__file__=path, __cached__=None, __loader__=loader)
        return code

    def begin(self):
        """The run is there."""
        import builtins
        try:
            self.os.set_inheritable(self.RESULTS_FD, False)
            self.pipe = self.os.fstat(self.RESULTS_FD), self.os.getpid()
            self.load("imports")["watch"](self)
        except OSError:  # this run has no results
            pass
        try:
            self.os.set_inheritable(self.TOOLS_FD, False)
            self.has_tools = True
        except OSError:  # and no tools
            pass
        builtins.display = self.display
        self.is_session = bool(self.extension.prepare_session())
        self.extension.arm_main((self.load_main, self.tell))

    def put_back_variables(self):
        """Of a start with its run."""
        os, sys = self.os, self.sys
        del os.environ["CODE_EXECUTE_INTERPRETER"]
        _, separator, own = os.environ.pop("PYTHONPATH").partition(":")
        if separator:
            os.environ["PYTHONPATH"] = own
        if os.environ.get("PYTHONDONTWRITEBYTECODE") == "code-execute":
            del os.environ["PYTHONDONTWRITEBYTECODE"]
            sys.dont_write_bytecode = False


def _begin():
    """The spec of the module that stands in this one's place in the view, and its code, where it has been read."""
    runner = _Runner()
    what = runner.os.environ.get("CODE_EXECUTE_INTERPRETER")
    if what is None:  # an interpreter in that of the run
        return runner.find(__name__), None
    if what != "begin":
        return runner.load("waiting")["wait"](runner, __name__), runner.own_code
    runner.put_back_variables()
    own = runner.find(__name__)
    try:
        runner.load_extension()
        runner.begin()
    except Exception:  # an interpreter without the stable interface runs its program all the same
        pass
    return own, None


def _become_the_machines_own(spec, code):
    """Replaces this module by the one that Python would have imported instead, if there is one; its effects happen in every run."""
    import sys
    module = sys.modules[__name__]
    if spec is None or spec.loader is None:
        raise ImportError(f"No module named {__name__!r}", name=__name__)
    del module._Runner, module._begin, module._become_the_machines_own
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__cached__, module.__doc__ = spec.cached, None
    if code is None:
        spec.loader.exec_module(module)
    else:
        exec(code, module.__dict__)


_become_the_machines_own(*_begin())
