# SPDX-License-Identifier: Apache-2.0
"""Makes Python wait for a run at the end of its own start, before it has looked at its program: in its sandbox, or about to be copied
into it. Its command line is the program's. What is changed here is put back before the program begins. sitecustomize.py executes
this."""

TWIN_SECONDS = 50  # an interpreter that is to be copied has a minute for its start


def wait(runner, own_name):
    """runner: the class Runner of sitecustomize.py. Returns the spec of the module that stands in its place in the view."""
    import os
    import site
    import sys

    def import_quietly(name):
        try:
            __import__(name)
        except Exception:  # a module that is not there is the program's to miss
            sys.modules.pop(name, None)

    def refuse(why, detail=""):
        """With a name of preparation_outcome.h."""
        extension.refuse_forks(os.fsencode(f"{why} {detail}"))

    class Guard:
        """Allows imports only from places to which nobody but root and the gateway's user can write. An interpreter that would
        execute other code outside of a sandbox is not copied."""

        def __init__(self, roots):
            self.roots = roots
            self.places = ("/",)  # trusted modules must also be below one of these

        def find_spec(self, name, path=None, target=None):
            for finder in sys.meta_path:
                spec = finder.find_spec(name, path, target) if finder is not self and hasattr(finder, "find_spec") else None
                if spec is not None:
                    if spec.has_location and not self.trusts(spec.origin):
                        refuse("module_not_trusted", f"{name} {spec.origin}")
                    return spec
            return None

        def trusts(self, path):
            real = os.path.realpath(path)
            return real.startswith(self.places) and any(real == root or real.startswith(root + "/") for root in self.roots)

    def import_outside(note):
        """The imports of an interpreter that is to be copied, and of its twin."""
        guard = Guard(os.environ["CODE_EXECUTE_TRUSTED"].split(":"))
        sys.meta_path.insert(0, guard)
        for name in module_names:
            import_quietly(name)
            note(name)
        guard.places = runner.load("trial")["DISTRIBUTION"]  # the policy has not asked for the modules that follow
        for name in named_modules:
            import_quietly(name)
            note(name)
        sys.meta_path.remove(guard)

    def be_twin():
        """Imports the same modules, and writes the digests of their generators to standard output."""
        __import__("_signal").alarm(TWIN_SECONDS)
        import_outside(lambda name: None)
        os.write(1, "\n".join(runner.load("generators")["digests"]()).encode() + b"\n.")
        os._exit(0)

    def read_command_line():
        """The list that sys has, as far as it has one."""
        if hasattr(sys, "orig_argv"):
            return sys.orig_argv
        with open("/proc/self/cmdline", "rb") as file:  # Python 3.9
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]

    def ask_twin():
        """The digests of its generators. An answer without its last line is not used."""
        reader, writer = os.pipe()
        environment = {**os.environ, "CODE_EXECUTE_INTERPRETER": "twin"}
        actions = [(os.POSIX_SPAWN_DUP2, writer, 1)] + [(os.POSIX_SPAWN_CLOSE, fd) for fd in (3, 4, 5)]
        pid = os.posix_spawn("/proc/self/exe", command_line, environment, file_actions=actions)
        os.close(writer)
        with open(reader, "rb") as file:
            told = file.read()
        os.waitpid(pid, 0)
        if not told.endswith(b"\n."):
            refuse("second_import_failed")
        return set(told[:-2].decode().split("\n"))

    def begin_anew(without):
        """An imported module cannot be taken back, so a new interpreter starts without these modules."""
        left, left_named = ([name for name in names if name not in without] for names in (module_names, named_modules))
        if len(left) + len(left_named) == len(module_names) + len(named_modules):  # a generator of the interpreter's own start
            refuse("own_generators_not_seeded")
        names = {"CODE_EXECUTE_IMPORT": ",".join(left), "CODE_EXECUTE_IMPORT_NAMED": ",".join(left_named),
                 "CODE_EXECUTE_LEFT_OUT": ",".join([*left_out, *sorted(filter(None, without))])}
        os.execve("/proc/self/exe", command_line, {**os.environ, **names})

    def import_for_forks():
        """The generators to seed in each copy, and the state that random's own generator keeps in copies (None: it is seeded)."""
        generators = runner.load("generators")
        watch = generators["Watch"]()
        import_outside(watch.note)
        if not watch.things:
            return [], None
        try:
            changing = watch.changing(ask_twin())
        except generators["CannotBeSeeded"] as error:
            begin_anew(error.names)
        own = getattr(sys.modules.get("random"), "_inst", None)
        is_seeded_on_purpose = own is not None and all(generator.thing is not own for generator in changing)
        return changing, own.getstate() if is_seeded_on_purpose else None

    def collect_for_good():
        """Excludes all present objects from collections: they outlive every program, and a collection would write to their pages."""
        known = "gc" in sys.modules
        import gc
        gc.collect()
        gc.freeze()
        if not known:
            del sys.modules["gc"]

    def shorten_end():
        plain = not sys.flags.verbose and not sys.flags.dev_mode and "PYTHONMALLOCSTATS" not in os.environ
        if plain and sys.version_info >= (3, 10):  # before, the functions of atexit are not in the interpreter's own state
            extension.prepare_end()

    def make_main_module():
        """A new one, which the collector does examine: objects that a program leaves there must be finalized."""
        old = sys.modules["__main__"]
        main = sys.modules["__main__"] = type(sys)("__main__")
        main.__dict__.update(old.__dict__)
        main.__annotations__ = {}

    def seed_anew():
        """The module random seeds itself in a child, but not where a module has seeded it on purpose."""
        for generator in changing:
            generator.seed()
        if own_state is not None:
            sys.modules["random"]._inst.setstate(own_state)

    def settle_home(home):
        os.environ["HOME"] = home
        if site.USER_BASE is not None:
            site.USER_BASE = site.USER_SITE = None
            site.getusersitepackages()

    def move_home(home):
        """Of a copy that has no file view, and so a home and a temporary directory of its own."""
        runner.moved = True
        settle_home(home)
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None

    def settle(home):
        """Prepares what is the same in most runs, before there is a run to wait for it."""
        for name in [name for name in os.environ if name.startswith("CODE_EXECUTE_") or name == "PYTHONPATH"]:
            del os.environ[name]
        settle_home(home)
        command_line[:] = [program if argument == sys.argv[0] else argument for argument in command_line]
        sys.argv[0] = program

    def put_in_place(arguments, environment):
        variables = dict(variable.split(b"=", 1) for variable in environment)
        for name in [name for name in os.environb if name not in variables]:
            del os.environb[name]
        for name, value in variables.items():
            if os.environb.get(name) != value:
                os.environb[name] = value
        sys.argv += map(os.fsdecode, arguments)
        command_line.extend(map(os.fsdecode, arguments))
        sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))

    class NothingFound:
        """Looks for a module as Python does, and finds none: a rehearsal is in no sandbox."""

        def find_spec(self, name, path=None, target=None):
            runner.find(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def rehearse():
        """From here on nothing but our own code is executed, as if it were the program, until Python's own end."""
        sys.meta_path.insert(0, NothingFound())
        sys.argv[0] = "/proc/self/fd/3"
        runner.own_code = compile("try:\n    import code_execute_rehearsal\nexcept ImportError:\n    pass\n", "", "exec")

    what, program, home = (os.environ["CODE_EXECUTE_" + name] for name in ("INTERPRETER", "PROGRAM", "HOME"))
    module_names, named_modules = ([name for name in os.environ["CODE_EXECUTE_" + variable].split(",") if name]
                                   for variable in ("IMPORT", "IMPORT_NAMED"))
    left_out = [name for name in os.environ.get("CODE_EXECUTE_LEFT_OUT", "").split(",") if name]
    own_home = None
    try:
        command_line = read_command_line()
        runner.load_extension()
        extension = runner.extension
        if what == "twin":
            be_twin()
        elif what == "copy":
            changing, own_state = import_for_forks()
        else:
            for name in module_names:
                import_quietly(name)
            if what == "trial":
                runner.load("trial")["report"](named_modules, home)
                os._exit(0)
            for name in named_modules:
                import_quietly(name)
        runner.load_all()
        settle(home)
        runner.find("usercustomize")  # as site will do: fills the caches
        if what == "copy":
            collect_for_good()
            shorten_end()
            own_home = os.fsdecode(extension.serve_forks(os.fsencode(",".join(left_out))))
            make_main_module()
            seed_anew()
            if own_home and own_home != home:
                move_home(own_home)
        else:
            if named_modules:  # large ones: each collection would examine all their objects, and so would the end of the run
                collect_for_good()
                shorten_end()
                make_main_module()
            extension.adopt()
        own = runner.find(own_name)
        runner.keep_code(own, own_name)
        put_in_place(*extension.wait_for_run())
        runner.begin()
        if own_home == "":
            rehearse()
        return own
    except BaseException:  # then no program may begin
        os._exit(1)
