# SPDX-License-Identifier: Apache-2.0
"""Each language of the policy runs for real: output, arguments, standard input, files, exit code. python, javascript, sh and
bash must be here; the others run where the machine has them, and are named with their package where it has not."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider
from provider import NOT_RUN, OK, Host

provider = Provider()
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
REQUIRED = {"python", "javascript", "sh", "bash"}


def check_language(language):
    host = Host(("sandbox.exec", "sandbox.exec.limits.extended"))
    code, result = provider.invoke({"language": language, "code": PROGRAMS[language], "args": ["first"],
                                    "stdin": "input", "timeout_ms": 30000}, host)
    if code == NOT_RUN and result["error"]["code"] == "runtime_not_found" and language not in REQUIRED:
        tap.contains(result["error"]["message"], "runtime not found: ")
        tap.contains(result["error"]["hint"], "install the package ")
        raise tap.Skip(f"{result['error']['message']} ({result['error']['hint']})")
    tap.equal(result["error"], None, result["stderr"])
    tap.equal((code, result["stdout"].split(), result["exit_code"]), (OK, ["first", "INPUT"], 3), result["stderr"])


def test_the_table_here_covers_the_manifest():
    enum = provider.manifest()["tools"][0]["input_schema"]["properties"]["language"]["enum"]
    tap.equal(set(enum), set(PROGRAMS))


for name in PROGRAMS:
    globals()[f"test_{name}"] = lambda language=name: check_language(language)


def test_aliases():
    for alias, expected in [("py", "python"), ("python3", "python"), ("node", "javascript"), ("shell", "sh")]:
        host = Host()
        code, _ = provider.invoke({"language": alias, "code": "1"}, host)
        tap.equal((code, host.records[0]["language"]), (OK, expected))


def test_environment_is_only_what_was_given():
    host = Host()
    _, result = provider.invoke({"language": "sh", "code": "env | sort", "env": {"GIVEN": "a b"}}, host)
    names = {line.split("=")[0] for line in result["stdout"].splitlines()}
    tap.equal(names - {"SHLVL", "_"}, {"GIVEN", "HOME", "LANG", "PATH", "PWD", "TMPDIR", "TZ", "USER"})


def test_files_arrive():
    host = Host(("sandbox.exec", "sandbox.exec.files"))
    files = [{"path": "data/a.txt", "content": "alpha"},
             {"path": "b.bin", "content": "AAEC", "encoding": "base64"}]
    _, result = provider.invoke({"language": "sh", "code": "cat data/a.txt; od -An -tx1 b.bin", "files": files}, host)
    tap.equal(result["stdout"], "alpha 00 01 02\n", result["stderr"])


def test_python_at_work():
    code = """
import asyncio, concurrent.futures, multiprocessing, os, sqlite3, subprocess, sys, tempfile, threading
def square(n): return n * n
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(square, range(4)))
    with concurrent.futures.ThreadPoolExecutor(4) as threads: print(list(threads.map(square, range(4))))
    print(subprocess.run(["sh", "-c", "echo child"], capture_output=True, text=True).stdout.strip())
    print(asyncio.run(asyncio.sleep(0, "async")))
    print(sqlite3.connect("a.db").execute("select 6*7").fetchone()[0])
    with tempfile.TemporaryDirectory() as folder: print(os.path.isdir(folder))
    print(__file__.endswith("main.py"), sys.argv, len(os.urandom(8)))
    open("out.txt", "w").write("x"); import importlib; print(open("out.txt").read())
"""
    _, result = provider.invoke({"language": "python", "code": code}, Host())
    tap.equal(result["stdout"].splitlines(),
              ["[0, 1, 4, 9]", "[0, 1, 4, 9]", "child", "async", "42", "True", "True ['main.py'] 8", "x"],
              result["stderr"])


def test_node_at_work():
    code = """
const {Worker, isMainThread} = require('worker_threads'), {execFileSync} = require('child_process'), fs = require('fs');
fs.writeFileSync('a.txt', 'x');
const w = new Worker("require('worker_threads').parentPort.postMessage(6*7)", {eval: true});
w.on('message', async m => { console.log(m, execFileSync('sh', ['-c', 'echo child']).toString().trim());
  console.log((await WebAssembly.compile(new Uint8Array([0,97,115,109,1,0,0,0]))) instanceof WebAssembly.Module); });
"""
    _, result = provider.invoke({"language": "javascript", "code": code}, Host())
    tap.equal(result["stdout"].splitlines(), ["42 child", "true"], result["stderr"])


tap.run(globals())
