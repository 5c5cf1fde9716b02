# SPDX-License-Identifier: Apache-2.0
"""Makes a container's Python wait for its run at the end of its own start, before it opens its program. At that time Python imports a
module named sitecustomize (site); its command line is the program's. The container's first process writes this file, and the files and
the standard input of the run (plugin/guest/guest_interpreter.c); variables and arguments come through a pipe. Everything that is changed
here is put back before the program begins, and no name of it is left."""


def _wait():
    """The spec of the module that Python would have imported in place of this one; None: there is none."""
    import _frozen_importlib_external
    import os
    import sys

    PLACE, RUN, TOLD, INPUT, RESULTS = "/tmp/.code-execute", 3, 4, 5, 63

    def import_quietly(name):
        known = set(sys.modules)
        try:
            __import__(name)
        except Exception:  # the program reports a missing module itself
            for new in set(sys.modules) - known:
                del sys.modules[new]

    def remove_traces():
        for place in (PLACE + "/__pycache__", PLACE):
            if os.path.isdir(place):
                for name in os.listdir(place):
                    os.unlink(os.path.join(place, name))
                os.rmdir(place)
        sys.path[:] = [entry for entry in sys.path if entry != PLACE]
        sys.path_importer_cache.pop(PLACE, None)
        own, _, rest = os.environ.pop("PYTHONPATH").partition(":")
        if rest:
            os.environ["PYTHONPATH"] = rest

    def find_replaced_module():
        return _frozen_importlib_external.PathFinder.find_spec(__name__, sys.path)

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
        remove_traces()
        for name in filter(None, modules):
            import_quietly(name)
        spec = find_replaced_module()
        later = paths_of_the_run()
        collect_for_good()
        make_main_module()
        os.write(TOLD, b"w")
        variables, arguments = take_strings(), take_strings()
        if take_number():
            os.dup2(INPUT, 0)
        if not take_number():
            try:
                os.close(RESULTS)
            except OSError:  # a run with few descriptors has none
                pass
        set_arguments_and_variables(variables, arguments[count:])
        if later:
            for entry in later:
                sys.path_importer_cache.pop(entry, None)
            spec = find_replaced_module()
        os.close(RUN)
        os.close(INPUT)
        os.write(TOLD, b"b")
        os.close(TOLD)
    except BaseException:  # the program must not begin
        os._exit(1)
    return spec


def _become(spec):
    import sys
    module = sys.modules[__name__]
    if spec is None or spec.loader is None:
        raise ImportError("No module named " + repr(__name__), name=__name__)
    del module._wait, module._become
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__cached__, module.__doc__ = spec.cached, None
    spec.loader.exec_module(module)


_become(_wait())
