# SPDX-License-Identifier: Apache-2.0
"""Makes a container's Python wait for its run at the end of its own start, before it opens its program. At that time Python imports a
module named sitecustomize (site); its command line is the program's. The bootstrap's script writes this file. The message with the
run (bootstrap.c) comes through descriptor 9; the script would read the same message. Everything that is changed here is put back
before the program begins, and no name of it is left."""


def _wait():
    """The spec of the module that Python would have imported in place of this one; None: there is none."""
    import _frozen_importlib_external
    import os
    import sys

    PLACE, FROM = "/tmp/.code-execute", 9
    message = bytearray()
    variables, arguments = [], []

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

    def receive():
        piece = os.read(FROM, 1 << 16)
        if not piece:  # the engine has closed the stream
            os._exit(1)
        message.extend(piece)

    def take(length):
        """That many bytes of the message, in pieces."""
        while length:
            if not message:
                receive()
            piece = bytes(message[:length])
            del message[:length]
            length -= len(piece)
            yield piece

    def take_text():
        while b"\n" not in message:
            receive()
        line = bytes(message[:message.index(b"\n") + 1])
        del message[:len(line)]
        return b"".join(take(int(line)))

    def commands(text):
        """The words of each line. A quoted string is a word, and has no NUL in it; the text uses nothing else of a shell's language."""
        words = []
        for number, part in enumerate(text.replace(b"'\\''", b"\0").split(b"'")):
            if number % 2:
                words.append(part.replace(b"\0", b"'"))
                continue
            first, *lines = part.split(b"\n")
            words += first.split()
            for line in lines:
                yield words
                words = line.split()

    def make_room(path):
        if b"/" in path:
            os.makedirs(os.path.dirname(path), exist_ok=True)

    def write(path, pieces):
        make_room(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        for piece in pieces:
            while piece:
                piece = piece[os.write(fd, piece):]
        os.close(fd)

    def set_input(pieces):
        write(os.fsencode(PLACE), pieces)
        fd = os.open(PLACE, os.O_RDONLY)
        os.unlink(PLACE)
        os.dup2(fd, 0)
        os.close(fd)

    def execute(name, *words):
        if name == b"ce_text":
            write(words[0], words[1:])
        elif name == b"put":
            write(words[0], take(int(words[1])))
        elif name == b"input":
            set_input(take(int(words[0])))
        elif name == b"set":
            end = words.index(b"--", 1)  # a variable has a "="
            variables.extend(words[1:end])
            arguments.extend(words[end + 1:])
        elif name == b"umask":
            os.umask(int(words[0], 8))
        elif name == b"ce_room":
            make_room(words[0])
        else:
            raise ValueError(name)

    def set_arguments_and_variables(count):
        for variable in variables:
            name, _, value = variable.partition(b"=")
            if os.environb.get(name) != value:
                os.environb[name] = value
        sys.argv += map(os.fsdecode, arguments[count:])
        if hasattr(sys, "orig_argv"):
            sys.orig_argv += map(os.fsdecode, arguments[count:])

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
        os.write(1, b"=Waits: 1\n")
        for command in commands(take_text()):
            execute(*command)
        os.close(FROM)
        set_arguments_and_variables(count)
        if later:
            for entry in later:
                sys.path_importer_cache.pop(entry, None)
            spec = find_replaced_module()
        os.write(1, b"+\n")
        os.write(2, b"+\n")
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
