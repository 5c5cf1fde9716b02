# SPDX-License-Identifier: Apache-2.0
"""Python's sitecustomize, in whose place an interpreter waits for its run: the program finds the view's, executed, or none, as it does
where nothing has waited."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from modes import Provider
from provider import OK, Host

PROGRAM = """import sys
module = sys.modules.get('sitecustomize')
print(module and (module.__file__, module.__spec__.origin, type(module.__loader__), module.__cached__, module.__doc__, sorted(vars(module))))
print([entry for entry in sys.path_importer_cache if 'code-execute' in entry or 'plugin' in entry], sys.path)
try:
    import sitecustomize
except ImportError as error:
    print(error)
"""
provider = Provider()


def run():
    status, result = provider.invoke({"language": "python", "code": PROGRAM}, Host())
    tap.true(status == OK and result["cause"] == "exit", result)
    return result["stdout"] + result["stderr"]


def use(ready, read_only, fork=True):
    provider.reset()
    python = {"prepare": {"fork": fork}, "read_only": read_only}
    tap.equal(provider.use_policy({"pools": {"process": {"ready": ready}}, "languages": {"python": python}}), OK)
    if ready:
        run()


def compare(*read_only):
    """What is printed, in each of the three ways."""
    use(0, read_only)
    plain = run()
    for fork, how in (True, waiting.COPIED), (False, waiting.STARTED):
        use(1, read_only, fork)
        tap.equal(waiting.ready_run(provider, run, 1, how), plain, how)
    return plain


def test_there_is_none_where_the_view_has_none():
    tap.contains(compare(), "No module named 'sitecustomize'")


def test_it_is_the_view_s():
    """Debian's is a link to a file that the built-in policy does not show."""
    files = {path.resolve() for path in pathlib.Path("/usr/lib").glob("python3*/sitecustomize.py")}
    if not files:
        raise tap.Skip("no sitecustomize is installed")
    tap.contains(compare(*sorted({str(file.parent) for file in files})), "sitecustomize.py")


tap.run(globals())
