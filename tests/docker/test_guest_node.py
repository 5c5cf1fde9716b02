# SPDX-License-Identifier: Apache-2.0
"""The Node of a container, without an engine: with the script that begins its program, a program's output, errors and end are those of
the same Node without it. In a container: test_real_node.py"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "process" / "interpreters")]
import guest
import tap
from plain_javascript import PROGRAMS
from started_guest import FEW_DESCRIPTORS, IMAGE, NO_ROOM, needed, results_of, run

NODE = shutil.which("node", path=IMAGE["PATH"])
COMMAND = [NODE, "main.js", "first", "a b"]
SURROUNDINGS = """
const fs = require('fs');
const shown = (name) => { try { return fs.readlinkSync(`/proc/self/fd/${name}`).replace(/\\d+/g, 'N') } catch { return null } };
console.log(JSON.stringify({
  files: fs.readdirSync('/tmp'), variables: process.env, arguments: [process.argv, process.execArgv], cache: Object.keys(require.cache),
  globals: Object.keys(globalThis), events: process.eventNames(), children: module.children,
  handles: process.getActiveResourcesInfo(),
  descriptors: Object.fromEntries(fs.readdirSync('/proc/self/fd').map((name) => [name, shown(name)])),
  ofChild: require('child_process').execSync('ls /proc/self/fd; env | sort').toString(),
}))
"""
HAS_DISPLAY = "console.log(typeof display)"


def plain(code, files=(), **told):
    return run(COMMAND, files=[("main.js", code.encode()), *files], **told)


def begun(code, **told):
    return plain(code, runner=guest.NODE, results=True, **told)


def seen(found):
    """(status, stdout, stderr). Addresses are as the kernel chooses them."""
    status, = struct.unpack_from("<I", found[-1][1])
    texts = (b"".join(payload for kind, payload in found if kind == stream) for stream in ("stdout", "stderr"))
    return status, *(re.sub(b"0x[0-9a-f]+", b"0x0", text) for text in texts)


def output_of(found):
    status, output, errors = seen(found)
    tap.equal((status, errors), (0, b""), found)
    return output


def test_programs_see_no_difference():
    def both(name):
        with_results = begun(PROGRAMS[name], stdin=b"one\ntwo\n")
        return name, seen(plain(PROGRAMS[name], stdin=b"one\ntwo\n")), seen(with_results), bool(results_of(with_results))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(both, PROGRAMS))
    different = [name for name, without, there, _ in results if without != there]
    for name, without, there, _ in results:
        if name in different:
            print(f"# {name}:\n#   plain {without}\n#   begun {there}".replace("\\n", " "))
    tap.equal(different, [], "programs that can tell")
    tap.true(sum(tells for *_, tells in results) > len(results) // 3, "the runner was there")


def test_nothing_of_ours_is_left_but_descriptors():
    without, there = (json.loads(output_of(found)) for found in (plain(SURROUNDINGS), begun(SURROUNDINGS)))
    own = {name: there["descriptors"].pop(name) for name in ("61", "63")}
    tap.equal(own, {"61": "/dev/null", "63": "pipe:[N]"})
    tap.equal(there, without)


def test_a_program_has_the_options_of_its_run_or_image():
    code = ("const inherited = require('child_process').execSync('env').includes('NODE_OPTIONS')\n"
            "console.log(JSON.stringify(process.env.NODE_OPTIONS), Error.stackTraceLimit, typeof display, inherited)")
    options = "--stack-trace-limit=3  --no-warnings"
    expected = f'"{options}" 3 function true\n'.encode()
    tap.equal(output_of(begun(code, environment=[f"NODE_OPTIONS={options}"])), expected)
    tap.equal(output_of(begun(code, before=["env", f"NODE_OPTIONS={options}"])), expected)
    tap.equal(output_of(begun(code, environment=["NODE_OPTIONS="])), b'"" 10 function true\n')
    tap.equal(output_of(begun(code)), b"undefined 10 function false\n")
    control = output_of(plain(code, environment=[f"NODE_OPTIONS={options}"]))
    tap.equal(control, expected.replace(b"function", b"undefined"), "positive control")


def told(found):
    return [row.get("data", {}).get("text/plain", row) for row in results_of(found)]


def test_values_and_exceptions_are_told():
    tap.equal(told(begun("display('shown')\n6 * 7")), ["'shown'", "42"])
    [row] = told(begun("function fail() {\n  throw new TypeError('no')\n}\nfail()"))
    tap.equal((row["name"], row["value"], [frame["line"] for frame in row["frames"]]), ("TypeError", "no", [4, 2]))
    tap.equal([row["name"] for row in told(begun("let x = ;"))], ["SyntaxError"])
    [row] = results_of(begun("console.table([{ a: 1 }, { a: 2 }])"))
    tap.equal(row["table"]["rows"], [[0, 1], [1, 2]])
    tap.equal(results_of(plain("display('shown')\n6 * 7")), [], "positive control")


def test_an_image_of_es_modules_has_results_too():
    module = ["sh", "-c", "echo '{\"type\": \"module\"}' >/tmp/package.json && exec \"$@\"", "sh"]
    tap.equal(told(begun("6 * 7", inside=module)), ["42"])
    tap.equal(told(begun("6 * 7", files=[("package.json", b'{"type": "module"}')])), [], "an ES module has no value")


WORKER = """
const { Worker, isMainThread, SHARE_ENV } = require('worker_threads');
const code = 'console.log(typeof display, process.argv.length, process.execArgv, process.env.NODE_OPTIONS, module.children.length)\\n6 * 7';
const start = (first, ...rest) => first && new Worker(code, { eval: true, ...first }).on('exit', () => start(...rest));
start({}, { env: SHARE_ENV }, { env: {} }, { execArgv: [] }, { argv: [1] }, { stdout: false });
undefined
"""


def test_threads_and_child_processes_have_no_results():
    child = "if (process.argv[2] === 'child') 6 * 7\nelse require('child_process').fork(__filename, ['child'])\nundefined"
    for code in (WORKER, child):
        found = begun(code)
        tap.equal(told(found), [])
        tap.equal(seen(found), seen(plain(code)))
    tap.equal(dict(plain(WORKER))["stdout"].count(b"\n"), 6, "positive control")


def test_omitted_results_are_counted_in_two_frames():
    def omitted(code):
        return [(row["count"], row["reason"]) for row in results_of(begun(code)) if "reason" in row]
    show = "for (let i = 0; i < {}; i++) display(i)\n"
    tap.equal(omitted(show.format(64)), [])
    tap.equal(omitted(show.format(65)), [(1, "max_items")])
    tap.equal(omitted(show.format(1000)), [(1, "max_items"), (935, "max_items")])
    tap.equal(omitted(show.format(70) + "process.exit(3)"), [(1, "max_items"), (5, "max_items")])
    tap.equal(omitted(show.format(70) + "throw new Error('x')"), [(1, "max_items"), (5, "max_items")])
    late = show.format(70) + "process.on('exit', () => display(1))\nundefined"
    tap.equal(omitted(late), [(1, "max_items"), (5, "max_items"), (1, "max_items")])
    rows = results_of(begun("for (let i = 0; i < 70; i++) display('x'.repeat(200000))"))
    tap.equal({row["reason"] for row in rows if "reason" in row}, {"total_bytes"})
    tap.equal(sum(row.get("count", 1) for row in rows), 70)


def test_where_the_script_has_no_room_node_runs_its_program():
    look = HAS_DISPLAY + "\nconsole.log(process.env.NODE_OPTIONS, require('fs').readdirSync('/tmp'))"
    for inside in NO_ROOM, FEW_DESCRIPTORS:
        tap.equal(output_of(begun(look, inside=inside)), b"undefined\nundefined []\n")
    tap.equal(output_of(begun(HAS_DISPLAY)), b"function\n", "positive control")


def test_a_run_without_results_has_none():
    look = HAS_DISPLAY + "\nconsole.log([61, 63].map((fd) => require('fs').existsSync(`/proc/self/fd/${fd}`)))"
    tap.equal(output_of(plain(look, runner=guest.NODE)), b"undefined\n[ false, false ]\n")
    tap.equal(output_of(begun(look)), b"function\n[ true, true ]\n", "positive control")


needed()
if not NODE or subprocess.run([NODE, "-e", "process.exit(Object.hasOwn ? 0 : 1)"], check=False).returncode:
    tap.skip_all("no Node of version 16.9 or newer in the machine's own directories of programs")
tap.run(globals())
