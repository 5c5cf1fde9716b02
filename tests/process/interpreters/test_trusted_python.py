# SPDX-License-Identifier: Apache-2.0
"""What runs outside of a sandbox is root's: the Python that copies are made of imports from nowhere that another user can write to,
whatever points there. Each case is tried with a directory of another user's, whose module must run in a sandbox only, and where that
makes sense with root's, of which copies are made: the control, in which the module's mark is found outside."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import alone
import tap
from languages import waiting
from languages.waiting import COPIED, STARTED
from modes import Provider
from provider import OK, Host

SOMEBODY = 64998
VERSION = "python" + subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True).stdout.strip()
SITE = pathlib.Path(f"/usr/local/lib/{VERSION}/dist-packages")


class Place:
    """A directory with a module that leaves a mark where it runs outside of a sandbox; with owner: all of it is that user's."""

    def __init__(self, name):
        self.root = ROOT / name
        self.mark = MARKS / name
        self.root.mkdir()

    def write(self, path, text, mode=0o644):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def write_module(self, path="canary.py"):
        return self.write(path, f"try:\n    open({str(self.mark)!r}, 'w').close()\nexcept OSError:\n    pass\nclass Warning(UserWarning): pass\n")

    def give(self, path=""):
        for file in [self.root / path, *(self.root / path).rglob("*")]:
            os.chown(file, SOMEBODY, SOMEBODY, follow_symlinks=False)


def use(places, environment=None, modules=("canary",), **more):
    provider.reset()
    python = {"prepare": {"import": list(modules), **waiting.ASKED_FOR_NONE}, "environment": environment or {}, "read_only": [str(place.root) for place in places]}
    tap.equal(provider.use_policy({"pools": {"process": {"ready": 1, "most": 0}}, "languages": {"python": python}, "only_languages": ["python"], **more}), OK)


def run(code="import sys; print('canary' in sys.modules)"):
    status, result = provider.invoke({"language": "python", "code": code}, Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return result["stdout"]


def expect(how, place, *why, loaded=True):
    """An interpreter waits, of that kind; the module ran outside of a sandbox where, and only where, it was to be copied. why: the code
    of the reason that is told, and parts of its message."""
    run()
    tap.equal(waiting.ready_run(provider, run, 1, how), f"{loaded}\n", "the module is there in either case")
    tap.equal(place.mark.exists(), how == COPIED, "it ran outside")
    if how == COPIED:
        tap.equal(waiting.told(provider), {"word": None, "how": "copied", "code": "copied", "message": None, "remedy": None})
    else:
        waiting.expect_told(provider, "started_ahead", *why)
    place.mark.unlink(missing_ok=True)


def on_path(place):
    return {"PYTHONPATH": str(place.root)}


def test_root_s_directory_is_copied():
    place = Place("of-root")
    place.write_module()
    use([place], on_path(place))
    expect(COPIED, place)


def test_another_user_s_directory_is_not():
    place = Place("of-somebody")
    place.write_module()
    place.give()
    use([place], on_path(place))
    expect(STARTED, place, "path_not_trusted", place.root)


def test_nor_root_s_below_another_user_s():
    place = Place("below")
    place.write_module("a/b/canary.py")
    os.chown(place.root / "a", SOMEBODY, SOMEBODY)
    use([place], {"PYTHONPATH": str(place.root / "a/b")})
    expect(STARTED, place, "path_not_trusted", place.root / "a")


def test_nor_one_that_others_may_write_to():
    for number, mode in enumerate((0o775, 0o757, 0o1777)):
        place = Place(f"writable-{number}")
        place.write_module()
        place.root.chmod(mode)
        use([place], on_path(place))
        expect(STARTED, place, "path_not_trusted", place.root)


def test_nor_one_with_a_module_of_another_user_s():
    place = Place("module")
    os.chown(place.write_module(), SOMEBODY, SOMEBODY)
    use([place], on_path(place))
    expect(STARTED, place, "path_not_trusted", place.root)
    place = Place("package")
    place.write_module("canary/__init__.py")
    place.write("canary/deep/data", "")
    place.give("canary/deep")
    use([place], on_path(place))
    expect(STARTED, place, "path_not_trusted", place.root)


def test_nor_one_behind_another_user_s_link():
    place, links = Place("behind"), Place("links")
    place.write_module()
    (links.root / "link").symlink_to(place.root)
    use([place, links], {"PYTHONPATH": str(links.root / "link")})
    expect(COPIED, place)
    links.give("link")
    use([place, links], {"PYTHONPATH": str(links.root / "link")})
    expect(STARTED, place, "path_not_trusted", links.root / "link")


def test_nor_one_whose_link_leads_to_another_user_s():
    place, other = Place("linking"), Place("linked")
    other.write_module("canary.py")
    (place.root / "canary.py").symlink_to(other.root / "canary.py")
    use([place, other], on_path(place))
    expect(COPIED, other)
    other.give()
    use([place, other], on_path(place))
    expect(STARTED, other, "path_not_trusted", other.root)


def test_nor_one_that_another_user_could_make():
    place = Place("absent")
    place.write_module()
    open_to_all = Place("open")
    open_to_all.root.chmod(0o1777)
    use([place], {"PYTHONPATH": f"{place.root}:{place.root}/none"})
    expect(COPIED, place)
    use([place], {"PYTHONPATH": f"{place.root}:{open_to_all.root}/none"})
    expect(STARTED, place, "path_not_trusted", open_to_all.root)


def test_nor_the_working_directory():
    place = Place("here")
    place.write_module()
    for path in (f"{place.root}:", f":{place.root}", f"{place.root}:.", f"{place.root}:here"):
        use([place], {"PYTHONPATH": path})
        expect(STARTED, place, "path_not_trusted")


def test_another_home_of_python_s():
    place = Place("home")
    (place.root / "lib").mkdir()
    (place.root / f"lib/{VERSION}").symlink_to(f"/usr/lib/{VERSION}")
    place.write_module(f"local/lib/{VERSION}/dist-packages/canary.py")
    place.write(f"local/lib/{VERSION}/dist-packages/canary.pth", "import canary\n")
    place.give()
    use([place], {"PYTHONHOME": str(place.root)}, modules=[])
    expect(STARTED, place, "variable_not_known", "PYTHONHOME")


def test_a_user_s_own_modules():
    place = Place("user")
    place.write_module(f"lib/{VERSION}/site-packages/canary.py")
    place.write(f"lib/{VERSION}/site-packages/canary.pth", "import canary\n")
    place.give()
    use([place], {"PYTHONUSERBASE": str(place.root)}, modules=[])
    expect(STARTED, place, "variable_not_known", "PYTHONUSERBASE")


def test_a_program_that_is_found_by_its_name():
    place = Place("program")
    (place.root / "bin").mkdir()
    (place.root / "bin/python3").symlink_to("/usr/bin/python3")
    place.write("pyvenv.cfg", "home = /usr/bin\n")
    place.write_module(f"lib/{VERSION}/site-packages/canary.py")
    place.write(f"lib/{VERSION}/site-packages/canary.pth", "import canary\n")
    place.give()
    use([place], {"PATH": f"{place.root}/bin:/usr/bin:/bin"}, modules=[])
    expect(STARTED, place, "path_not_trusted", place.root)


def make_environment(name, home="/usr/bin"):
    """A virtual one."""
    place = Place(name)
    (place.root / "bin").mkdir()
    (place.root / "bin/python3").symlink_to("/usr/bin/python3")
    place.write("pyvenv.cfg", f"home = {home}\n")
    place.write_module(f"lib/{VERSION}/site-packages/canary.py")
    directories = [f"{place.root}/bin", "/usr/bin", "/bin"]
    return place, {"environment": {"PATH": ":".join(directories)}, "runtime_path": directories}


def test_a_virtual_environment():
    place, more = make_environment("environment")
    use([place], **more)
    expect(COPIED, place)
    place.give("lib")
    use([place], **more)
    expect(STARTED, place, "path_not_trusted", place.root / "lib")


def test_a_virtual_environment_that_names_another_home():
    home = Place("other-home")
    (home.root / "lib").mkdir()
    (home.root / f"lib/{VERSION}").symlink_to(f"/usr/lib/{VERSION}")
    (home.root / "bin").mkdir()
    (home.root / "bin/python3").symlink_to("/usr/bin/python3")
    place, more = make_environment("named", f"{home.root}/bin")
    use([place, home], **more)
    expect(COPIED, place)
    home.give("lib")
    use([place, home], **more)
    expect(STARTED, place, "path_not_trusted", home.root / "lib")


def test_a_script_in_place_of_the_interpreter():
    place = Place("script")
    place.write_module()
    place.write("bin/python3", f"#!/bin/sh\ntouch {place.mark} 2>/dev/null\nexec /usr/bin/python3 \"$@\"\n", 0o755)
    directories = [f"{place.root}/bin", "/usr/bin", "/bin"]
    use([place], {"PATH": "/usr/bin:/bin", **on_path(place)}, runtime_path=directories)
    expect(STARTED, place, "not_a_program", place.root)
    place.give()
    use([place], {"PATH": "/usr/bin:/bin", **on_path(place)}, runtime_path=directories)
    expect(STARTED, place, "path_not_trusted", place.root)


POINTING = {
    "GCONV_PATH": "{root}",
    "LD_AUDIT": "{root}/none.so",
    "LD_DEBUG_OUTPUT": "{root}/none",
    "LD_LIBRARY_PATH": "{root}",
    "LD_PRELOAD": "{root}/none.so",
    "LOCPATH": "{root}",
    "LANG": "../../{root}",
    "LC_ALL": "/{root}",
    "TZ": "{root}/zone",
    "TZDIR": "{root}",
    "MATPLOTLIBRC": "{root}",
    "MPLBACKEND": "module://canary",
    "MPLCONFIGDIR": "{root}",
    "OPENSSL_CONF": "{root}/openssl.cnf",
    "OPENSSL_MODULES": "{root}",
    "PYTHONBREAKPOINT": "canary.Warning",
    "PYTHONPLATLIBDIR": "lib",
    "PYTHONPYCACHEPREFIX": "{root}",
    "PYTHONSTARTUP": "{root}/canary.py",
    "PYTHONWARNINGS": "ignore::canary.Warning",
    "SOME_MODULE_S_OWN": "{root}",
}


def test_variables_that_name_a_file_or_a_module():
    place = Place("variables")
    place.write_module()
    for name, value in POINTING.items():
        use([place], {**on_path(place), name: value.format(root=place.root)})
        run()
        waiting.await_waiting(1, STARTED)
        tap.true(not place.mark.exists(), f"{name}: nothing ran outside")
        waiting.expect_told(provider, "started_ahead", "variable_not_known", name)


def test_variables_that_name_none():
    place = Place("harmless")
    place.write_module()
    use([place], {**on_path(place), "LC_ALL": "C.UTF-8", "TZ": "Europe/Vienna", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7", "HOME": "/tmp/x"})
    expect(COPIED, place)


def expect_site(how, place, prepare, *why, modules=()):
    """The installation's own directory has nothing in it but what the case puts there."""
    SITE.mkdir(parents=True, exist_ok=True)
    with alone.emptied(SITE):
        prepare()
        use([place], modules=modules)
        expect(how, place, *why)
        provider.reset()


def test_the_installation_s_own_directory():
    place = Place("site")

    def put(owner=0, group=0, mode=0o755):
        shutil.copy(place.write_module(), SITE)
        os.chown(SITE, owner, group)
        SITE.chmod(mode)
    expect_site(COPIED, place, put, modules=["canary"])
    expect_site(STARTED, place, lambda: put(owner=SOMEBODY), "path_not_trusted", SITE, modules=["canary"])
    expect_site(STARTED, place, lambda: put(group=50, mode=0o2775), "path_not_trusted", SITE, modules=["canary"])


def test_files_of_paths():
    place = Place("paths")
    place.write_module()

    def put(text):
        return lambda: (SITE / "some.pth").write_text(text)
    by_name, by_code = f"# a comment\n{place.root}\n", f"import sys; sys.path.append({str(place.root)!r})\n"
    expect_site(COPIED, place, put(by_name), modules=["canary"])
    expect_site(STARTED, place, put(by_code), "module_not_trusted", "canary", place.root, modules=["canary"])  # nobody knows of it beforehand
    place.give()
    expect_site(STARTED, place, put(by_name), "path_not_trusted", place.root, modules=["canary"])
    expect_site(STARTED, place, put(by_code), "module_not_trusted", place.root, modules=["canary"])


def test_a_finder_of_the_installation_s():
    """As an editable installation leaves one, which knows a directory of its own."""
    place = Place("finder")
    place.write_module()
    finder = ("import sys\nfrom importlib.util import spec_from_file_location\nclass Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n"
              f"        return spec_from_file_location(name, {str(place.root)!r} + '/canary.py') if name == 'canary' else None\nsys.meta_path.append(Finder)\n")

    def put():
        (SITE / "some_finder.py").write_text(finder)
        (SITE / "some.pth").write_text("import some_finder\n")
    place.give()
    expect_site(STARTED, place, put, "module_not_trusted", "canary", place.root, modules=["canary"])


alone.become_alone()
BASE = pathlib.Path(tempfile.mkdtemp(prefix="trusted-python-", dir="/opt"))  # below /tmp or /var anybody, or a group, can put another Python's directories
BASE.chmod(0o755)
ROOT, MARKS = BASE / "places", BASE / "marks"
ROOT.mkdir()
MARKS.mkdir()
MARKS.chmod(0o1777)
provider = Provider()
try:
    tap.run(globals())
finally:
    shutil.rmtree(BASE)
