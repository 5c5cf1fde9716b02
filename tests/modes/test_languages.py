# SPDX-License-Identifier: Apache-2.0
"""Each language of the policy runs for real: output, arguments, standard input, files, exit code. Some must be there; the
others run where the machine, or the image, has them, and are named where it has not."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import engine
import modes
import tap
from modes import Provider
from provider import NOT_RUN, OK, Host

provider = Provider(modes.ALL_THE_TIME)
# language: (program that prints its first argument and its input in capitals, then exits 3)
PROGRAMS = {
    "python": "import sys\nprint(sys.argv[1], sys.stdin.read().upper())\nsys.exit(3)",
    "javascript": "const i=require('fs').readFileSync(0,'utf8');console.log(process.argv[2],i.toUpperCase());process.exit(3)",
    "sh": "echo \"$1 $(tr a-z A-Z)\"; exit 3",
    "bash": "read -r i; echo \"$1 ${i^^}\"; exit 3",
    "zsh": "read -r i; echo \"$1 ${i:u}\"; exit 3",
    "ruby": "puts ARGV[0] + ' ' + STDIN.read.upcase\nexit 3",
    "php": "<?php echo $argv[1] . ' ' . strtoupper(stream_get_contents(STDIN)) . \"\\n\"; exit(3);",
    "perl": "my $i = <STDIN>; print \"$ARGV[0] \" . uc($i) . \"\\n\"; exit 3;",
    "lua": "print(arg[1] .. ' ' .. io.read('a'):upper())\nos.exit(3)",
    "r": "cat(commandArgs(TRUE)[1], toupper(readLines(file('stdin'))), '\\n')\nquit(status=3)",
    "typescript": "const i: string = require('fs').readFileSync(0,'utf8');console.log(process.argv[2],i.toUpperCase());process.exit(3)",
}
# What scripts/packages installs for certain, and what each variant of the image has.
MINIMAL = {"python", "sh", "bash", "perl"}
REQUIRED = {"process": {"python", "javascript", "sh", "bash"},
            "unprivileged": {"python", "javascript", "sh", "bash"},
            "docker": set(PROGRAMS) - {"r", "typescript"} if modes.LONG else MINIMAL}[modes.MODE]


def run(language, code, host=None, **more):
    """A run of the language, or a skip where it may be missing and is."""
    return_code, result = provider.invoke({"language": language, "code": code, **more}, host or Host())
    if return_code == NOT_RUN and result["error"]["code"] == "runtime_not_found" and language not in REQUIRED:
        tap.contains(result["error"]["message"], "runtime not found: ")
        if modes.MODE == "docker":
            raise tap.Skip(f"{result['error']['message']} in the image {engine.IMAGE}")
        tap.contains(result["error"]["hint"], "install the package ")
        raise tap.Skip(f"{result['error']['message']} ({result['error']['hint']})")
    tap.equal((return_code, result["error"]), (OK, None), result["stderr"])
    return result


def check_language(language):
    result = run(language, PROGRAMS[language], args=["first"], stdin="input")
    tap.equal((result["stdout"].split(), result["exit_code"]), (["first", "INPUT"], 3), result["stderr"])


def test_the_table_here_covers_the_manifest():
    enum = provider.manifest()["tools"][0]["input_schema"]["properties"]["language"]["enum"]
    tap.equal(set(enum), set(PROGRAMS))


for name in PROGRAMS:
    globals()[f"test_{name}"] = lambda language=name: check_language(language)


def test_aliases():
    for alias, expected in [("py", "python"), ("python3", "python"), ("node", "javascript"), ("shell", "sh")]:
        host = Host()
        return_code, result = provider.invoke({"language": alias, "code": "1"}, host)
        tap.equal(host.records[0]["language"], expected)
        if expected in REQUIRED:
            tap.equal(return_code, OK, result["error"])


def test_library_that_is_not_there():
    tap.equal(run("python", "import no_such_library")["notes"],
              ["no_such_library is not installed, and a run installs nothing: do without it, or ask the operator for it"])
    policy = {"languages": {"python": {"modules": ["numpy", "pandas"]}}}
    output = provider.with_policy(policy, lambda: provider.invoke({"language": "python", "code": "import no_such_library"}, Host()))[1]
    tap.equal(output["notes"], ["no_such_library is not installed, and a run installs nothing; there are: numpy, pandas"])
    tap.equal(run("python", "print(\"ModuleNotFoundError: No module named 'x'\")")["notes"], [], "a program that ends well")


def test_the_environment_has_only_given_variables():
    code = "import os\nprint(*sorted(os.environ))"
    names = set(run("python", code, env={"GIVEN": "a b"})["stdout"].split())
    given = {"GIVEN", "HOME", "LANG", "PATH", "PWD", "TMPDIR", "TZ", "USER"}
    given |= {"PIP_RETRIES", "npm_config_fetch_retries"}  # as there is no network
    given |= {"PYTHONPATH"}  # so that a child's "python3 -m pip" says so (installers/pip.py)
    given |= {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "MPLBACKEND"}  # the language's own, from the policy
    if modes.MODE == "docker":
        given |= engine.image_variables()  # an image's own stay: what its runtimes need is its maker's to say
    tap.equal(names, given, "the variables")


def test_files_arrive():
    host = Host(("sandbox.exec", "sandbox.exec.files"))
    files = [{"path": "data/a.txt", "content": "alpha"},
             {"path": "b.bin", "content": "AAEC", "encoding": "base64"}]
    result = run("sh", "cat data/a.txt; od -An -tx1 b.bin", host, files=files)
    tap.equal(result["stdout"], "alpha 00 01 02\n", result["stderr"])


def test_python_at_work():
    code = """
import asyncio, concurrent.futures, os, sqlite3, subprocess, sys, tempfile, threading
def square(n): return n * n
if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(4) as threads: print(list(threads.map(square, range(4))))
    print(subprocess.run(["sh", "-c", "echo child"], capture_output=True, text=True).stdout.strip())
    print(asyncio.run(asyncio.sleep(0, "async")))
    print(sqlite3.connect("a.db").execute("select 6*7").fetchone()[0])
    with tempfile.TemporaryDirectory() as folder: print(os.path.isdir(folder))
    print(__file__.endswith("main.py"), sys.argv, len(os.urandom(8)))
    open("out.txt", "w").write("x"); import importlib; print(open("out.txt").read())
"""
    result = run("python", code)
    tap.equal(result["stdout"].splitlines(),
              ["[0, 1, 4, 9]", "child", "async", "42", "True", "True ['main.py'] 8", "x"], result["stderr"])


def test_python_with_processes_of_its_own():
    """A pool needs semaphores of /dev/shm."""
    code = """
import multiprocessing
def square(n): return n * n
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(square, range(4)))
"""
    if modes.MODE == "unprivileged":
        [note] = run("python", code)["notes"]
        tap.contains(note, "use threads, or Process with Pipe")
        code = """
import multiprocessing
def square(end, n): end.send(n * n)
if __name__ == "__main__":
    ends = [multiprocessing.Pipe() for n in range(4)]
    for n, end in enumerate(ends): multiprocessing.Process(target=square, args=(end[1], n)).start()
    print([end[0].recv() for end in ends])
"""
    result = run("python", code)
    tap.equal(result["stdout"], "[0, 1, 4, 9]\n", result["stderr"])


def test_node_at_work():
    code = """
const {Worker, isMainThread} = require('worker_threads'), {execFileSync} = require('child_process'), fs = require('fs');
fs.writeFileSync('a.txt', 'x');
const w = new Worker("require('worker_threads').parentPort.postMessage(6*7)", {eval: true});
w.on('message', async m => { console.log(m, execFileSync('sh', ['-c', 'echo child']).toString().trim());
  console.log((await WebAssembly.compile(new Uint8Array([0,97,115,109,1,0,0,0]))) instanceof WebAssembly.Module); });
"""
    result = run("javascript", code)
    tap.equal(result["stdout"].splitlines(), ["42 child", "true"], result["stderr"])


tap.run(globals())
