# SPDX-License-Identifier: Apache-2.0
"""Makes a container's Python wait for its run at the end of its own start, before it has looked at its program. Python imports a
module of this name then (site); its command line is the program's. The bootstrap's script writes this file, and says what the run
is through descriptor 9: variables, nothing, arguments, each with a NUL behind it. What is changed here is put back before the
program begins; no name of it is left."""


def _wait():
    import os
    import site
    import sys
    import time

    PLACE, INPUT, FROM = "/tmp/.code-execute", "/tmp/.code-execute-input", 9

    def import_quietly(name):
        known = set(sys.modules)
        try:
            __import__(name)
        except Exception:  # a module that is not there is the program's to miss
            for new in set(sys.modules) - known:
                del sys.modules[new]

    def leave_no_trace():
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

    def receive():
        data = bytearray()
        while True:
            piece = os.read(FROM, 1 << 16)
            if not piece:
                break
            data += piece
        os.close(FROM)
        if not data:  # nobody wants it any more
            os._exit(1)
        parts = bytes(data).split(b"\0")
        border = parts.index(b"")
        return parts[:border], parts[border + 1:-1]

    def await_speakers_end():
        """Who has said so is gone a little later than what it said is here."""
        def others():
            for pid in os.listdir("/proc"):
                if pid.isdigit() and int(pid) != os.getpid():
                    try:
                        with open("/proc/" + pid + "/stat", "rb") as file:
                            if int(file.read().rsplit(b")", 1)[1].split()[1]) == os.getppid():
                                return True
                    except (OSError, IndexError):
                        pass
            return False
        for _ in range(100):
            if not others():
                break
            time.sleep(0.0002)

    def take_input():
        if os.path.exists(INPUT):
            fd = os.open(INPUT, os.O_RDONLY)
            os.unlink(INPUT)
            os.dup2(fd, 0)
            os.close(fd)

    def put_in_place(variables, arguments):
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
        leave_no_trace()
        for name in filter(None, modules):
            import_quietly(name)
        os.write(1, b"=Waits: 1\n")
        variables, arguments = receive()
        await_speakers_end()
        take_input()
        put_in_place(variables, arguments[count:])
        os.write(1, b"+\n")
        os.write(2, b"+\n")
    except BaseException:  # not even the program of a run may begin then
        os._exit(1)


def _become_the_images_own():
    """The module that Python would have imported in place of this one: there may be none."""
    import _frozen_importlib_external
    import sys
    module, spec = sys.modules[__name__], _frozen_importlib_external.PathFinder.find_spec(__name__, sys.path)
    if spec is None or spec.loader is None:
        raise ImportError("No module named " + repr(__name__), name=__name__)
    del module._wait, module._become_the_images_own
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__cached__, module.__doc__ = spec.cached, None
    spec.loader.exec_module(module)


_wait()
_become_the_images_own()
