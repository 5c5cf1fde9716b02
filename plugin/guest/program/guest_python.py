# SPDX-License-Identifier: Apache-2.0
"""Begins the Python of a container's run at the end of its own start, before it opens its program. At that time Python imports a module
named sitecustomize (site); its command line is the program's. The guest writes this file (guest_python.c) with the texts of the runner's
parts in front of it (scripts/generate/join-scripts). The run is there already, or this waits for it: variables and arguments come
through a pipe, files and standard input are the guest's work. Everything that is changed here is put back before the program begins, this
file and its variables are removed, and no name of it is left."""


class _Runner:
    """Runs the program so that its results are told, where the run has any."""

    import os
    import sys

    RESULTS_FD, TOOLS_FD = 63, 62  # run_description.h
    has_tools = False  # of the run: then imports.py offers the module "tools"
    TEXTS = PARTS  # by scripts/generate/join-scripts
    INSTALLERS = "/.code-execute-installers"  # guest_protocol.h: for the Pythons that the program starts
    OLDEST = (3, 8)  # an older Python does not say where an expression ends, and runs its program as ever

    def __init__(self):
        import _frozen_importlib_external
        self.importlib = _frozen_importlib_external
        self.place, self.pipe, self.parts = self.os.path.dirname(__file__), None, {}

    def remove_traces(self):
        os, sys = self.os, self.sys
        for place in (self.place + "/__pycache__", self.place):
            if os.path.isdir(place):
                for name in os.listdir(place):
                    os.unlink(os.path.join(place, name))
                os.rmdir(place)
        for own in self.place, self.INSTALLERS:
            sys.path[:] = [entry for entry in sys.path if entry != own]
            sys.path_importer_cache.pop(own, None)
        del os.environ["CODE_EXECUTE_INTERPRETER"]
        _, _, rest = os.environ.pop("PYTHONPATH").partition(":")
        if rest:
            os.environ["PYTHONPATH"] = rest

    def find_replaced_module(self):
        """The spec of the module that Python would have imported in place of this one; None: there is none."""
        return self.importlib.PathFinder.find_spec(__name__, self.sys.path)

    def load(self, part):
        if part not in self.parts:
            names, known = {"__name__": part, "load": self.load}, set(self.sys.modules)
            self.parts[part] = names
            exec(self.code_of(part), names)
            for name in set(self.sys.modules) - known:  # what it needs the program has not imported
                if name != "atexit" or self.sys.version_info >= (3, 10):  # which had its functions in the module
                    del self.sys.modules[name]
        return self.parts[part]

    def code_of(self, part):
        """It may have been compiled already."""
        text = self.TEXTS[part]
        return text if type(text) is not str else compile(text, f"<{part}>", "exec")

    def load_ahead(self):
        """Those for libraries are compiled where their library is there."""
        if self.sys.version_info >= self.OLDEST:
            for part in "tools", "tool_channel":  # most runs have no tools: nothing of these is executed
                self.TEXTS[part] = self.code_of(part)
        for part in "imports", "main_run", "program_code":
            self.load(part)
        self.load("program_code")["compile_program"](b"0", "")  # Python makes the classes of syntax trees at their first use
        results = self.load("results")
        results["rehearse"]()
        for library, part in results["NEEDED"]:
            if library in self.sys.modules:
                self.load(part)

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

    def load_main(self, opened):
        """The program's code; None where Python shall run it: what is wrong with a program is Python's to report."""
        os, sys = self.os, self.sys
        if os.fstat(0).st_mode & 0o170000 == 0o140000:  # the cells of a session
            self.load("session_loop")["run"](self, opened)
        path = os.path.join(os.getcwd(), sys.argv[0]) if sys.version_info >= (3, 9) else sys.argv[0]
        try:
            with open(path, "rb") as file:
                if sys.flags.inspect or not os.path.sameopenfile(opened, file.fileno()):
                    return None
                code = self.load("program_code")["compile_program"](file.read(), path)
            with open("/dev/null", "rb") as nothing:
                os.dup2(nothing.fileno(), opened, False)
        except SyntaxError as error:
            self.tell(None, error.with_traceback(None))
            return None
        except Exception:
            return None
        loader = self.importlib.SourceFileLoader("__main__", path)
        sys.modules["__main__"].__dict__.update(__file__=path, __cached__=None, __loader__=loader)
        return code

    def arm(self):
        import builtins
        os, sys = self.os, self.sys
        try:
            self.pipe = os.fstat(self.RESULTS_FD), os.getpid()
            os.set_inheritable(self.RESULTS_FD, False)
        except OSError:  # this run has no results
            return
        try:
            os.set_inheritable(self.TOOLS_FD, False)
            self.has_tools = True
        except OSError:  # and no tools
            pass
        builtins.display = self.display
        self.load("imports")["watch"](self)
        if sys.version_info >= self.OLDEST:
            self.load("main_run")["Run"](self.load_main, self.tell).arm()

    def begin(self):
        """The run is there, and descriptors from 3 on are free."""
        try:
            self.arm()
        except Exception:  # the program runs all the same
            pass


def _wait(runner):
    """For the run, and become its interpreter."""
    import os
    import sys

    RUN, TOLD, INPUT = 3, 4, 5

    def import_quietly(name):
        known = set(sys.modules)
        try:
            __import__(name)
        except Exception:  # the program reports a missing module itself
            for new in set(sys.modules) - known:
                del sys.modules[new]

    def paths_of_the_run():
        """Entries of sys.path that may hold files of a run."""
        home = os.path.join(os.path.realpath("."), "")
        return [entry for entry in sys.path if os.path.join(os.path.realpath(entry), "").startswith(home)]

    def collect_for_good():
        """Objects that exist now outlive the program: no collection has to visit them, least of all that at the end."""
        known = "gc" in sys.modules
        import gc
        if hasattr(gc, "freeze"):
            gc.collect()
            gc.freeze()
        if not known:
            del sys.modules["gc"]

    def make_main_module():
        """A new one that the collector visits: objects that a program leaves there must be finalized."""
        old = sys.modules["__main__"]
        main = sys.modules["__main__"] = type(sys)("__main__")
        main.__dict__.update(old.__dict__)
        if "__annotations__" in main.__dict__:
            main.__annotations__ = {}

    def take(length):
        """That many bytes of the run."""
        pieces = []
        while length:
            piece = os.read(RUN, min(length, 1 << 16))
            if not piece:  # the guest has ended
                os._exit(1)
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def take_number():
        return int.from_bytes(take(4), "little")

    def take_strings():
        return [take(take_number()) for _ in range(take_number())]

    def set_arguments_and_variables(variables, arguments):
        for variable in variables:
            name, _, value = variable.partition(b"=")
            if os.environb.get(name) != value:
                os.environb[name] = value
        sys.argv += map(os.fsdecode, arguments)
        if hasattr(sys, "orig_argv"):
            sys.orig_argv += map(os.fsdecode, arguments)

    try:
        modules = os.environ.pop("CODE_EXECUTE_IMPORT").split(",")
        count = int(os.environ.pop("CODE_EXECUTE_ARGUMENTS"))
        for name in filter(None, modules):
            import_quietly(name)
        runner.load_ahead()
        spec = runner.find_replaced_module()
        later = paths_of_the_run()
        collect_for_good()
        make_main_module()
        os.write(TOLD, b"w")
        variables, arguments = take_strings(), take_strings()
        if take_number():
            os.dup2(INPUT, 0)
        has_results, has_tools = take_number(), take_number()
        set_arguments_and_variables(variables, arguments[count:])
        if later:
            for entry in later:
                sys.path_importer_cache.pop(entry, None)
            spec = runner.find_replaced_module()
        if not has_results:
            os.closerange(runner.RESULTS_FD, runner.RESULTS_FD + 1)
        if not has_tools:
            os.closerange(runner.TOOLS_FD, runner.TOOLS_FD + 1)
        for fd in RUN, INPUT:
            os.close(fd)
        os.write(TOLD, b"b")
        os.close(TOLD)
        runner.begin()
    except BaseException:  # the program must not begin
        os._exit(1)
    return spec


def _begin():
    runner = _Runner()
    waits = runner.os.environ["CODE_EXECUTE_INTERPRETER"] == "wait"
    runner.remove_traces()
    if waits:
        return _wait(runner)
    spec = runner.find_replaced_module()
    runner.begin()
    return spec


def _become(spec):
    import sys
    module = sys.modules[__name__]
    if spec is None or spec.loader is None:
        raise ImportError("No module named " + repr(__name__), name=__name__)
    del module.PARTS, module._Runner, module._wait, module._begin, module._become
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__cached__, module.__doc__ = spec.cached, None
    spec.loader.exec_module(module)


_become(_begin())
