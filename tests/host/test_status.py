# SPDX-License-Identifier: Apache-2.0
"""toolhost status: for people, as JSON, and as metrics that hold the rules of Prometheus' text format."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
import time

import tap
from support import TOOLHOST, HostTest

PROVIDER = os.environ.get("CODE_EXECUTE", "")
PATIENCE = 60  # seconds; only what hangs gets there
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?\d+)\n')


def metrics(text):
    """{(name, labels): value}; raises where the text has not the form."""
    found, types = {}, {}
    for line in text.splitlines(keepends=True):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            if name in types or kind not in ("gauge", "counter") or (kind == "counter") != name.endswith("_total"):
                raise AssertionError(f"type: {line}")
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            if not match or match[1] not in types or (match[1], match[2]) in found:
                raise AssertionError(f"sample: {line!r}")
            found[match[1], match[2]] = int(match[3])
    return found


class Status(HostTest):
    def status(self, *options, **more):
        return self.toolhost("status", *options, TOOLHOST_PLUGIN=PROVIDER, **more)

    def test_the_rules_themselves(self):
        good = '# TYPE a gauge\na{b="c\\"\\\\"} 1\n'
        self.assertEqual(len(metrics(good)), 1)
        for bad in ("a 1\n", good + 'a{b="c\\"\\\\"} 1\n', "# TYPE a gauge\na{b=\"c\"d\"} 1\n", "# TYPE a gauge\na 1", "# TYPE a counter\na 1\n"):
            self.assertRaises(AssertionError, metrics, bad)

    def test_metrics_agree_with_the_json(self):
        told = json.loads(self.status("--json").stdout)
        done = self.status("--format", "prometheus")
        found = metrics(done.stdout.decode())
        self.assertEqual(done.returncode == 0, told["ready"])
        self.assertEqual(found["toolhost_ready", None], int(told["ready"]))
        for backend in told["backends"]:
            self.assertEqual(found["toolhost_backend_available", f'name="{backend["name"]}"'], int(backend["available"]))
            for layer in backend["layers"]:
                self.assertEqual(found["toolhost_layer_applied", f'backend="{backend["name"]}",layer="{layer["name"]}"'],
                                 int(layer["state"] == "applied"))
        for runtime in told["runtimes"]:
            self.assertEqual(found["toolhost_runtime_found", f'language="{runtime["language"]}"'], int(runtime["found"]))
        names = {name for name, _ in found}
        for counter in told["counters"]:
            self.assertTrue({f"toolhost_{counter}", f"toolhost_{counter}_total"} & names, counter)
        for pool in told["pools"]:
            self.assertEqual(found["toolhost_pool_known", f'backend="{pool["backend"]}"'], 1)
            self.assertEqual([row["interpreter"] for row in pool["sandboxes"]], ["none", "python", "node"])
            for row in pool["sandboxes"]:
                labels = f'backend="{pool["backend"]}",interpreter="{row["interpreter"]}"'
                self.assertEqual([found[f"toolhost_pool_{name}", labels] for name in ("ready", "wanted", "memory_bytes")], [0, 0, 0])
        self.assertEqual([pool["backend"] for pool in told["pools"]], ["docker", "kubernetes", "process"])
        self.assertTrue(any(told["policy"]["sha256"] in labels for name, labels in found if name == "toolhost_info"))

    def test_into_a_file_in_one_step(self):
        path = self.path("metrics.prom", "old")
        before = os.stat(path).st_ino
        done = self.status("--metrics", path)
        self.assertEqual(done.stdout, b"")
        with open(path, encoding="utf-8") as file:
            self.assertIn(("toolhost_calls_run_total", None), metrics(file.read()))
        self.assertNotEqual(os.stat(path).st_ino, before)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        self.assertEqual(os.listdir(self.home), ["metrics.prom"])
        os.mkdir(self.path("directory"))
        for bad in (self.path("no/such/place"), self.path("directory")):
            done = self.status("--metrics", bad)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"unwritable_file", done.stderr)
        self.assertEqual(sorted(os.listdir(self.home)), ["directory", "metrics.prom"])

    def test_for_people(self):
        done = self.status()
        self.assertRegex(done.stdout.decode(), r"(?m)^ready   (yes|no)\nmode    \w+\npolicy  [0-9a-f]{64}$")
        self.assertTrue(done.stdout.endswith(b"\n0       ready for a run, of 0 wanted: docker\n0       ready for a run, of 0 wanted: kubernetes\n"
                                             b"0       ready for a run, of 0 wanted: process\n"), done.stdout)

    def test_a_refused_policy_is_not_ready(self):
        policy = self.path("policy.json", '{"nonsense": "a\\"b"}')
        done = self.status("--policy", policy)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"ready   no\n", done.stdout)
        self.assertIn(b"error   ", done.stdout)
        found = metrics(self.status("--policy", policy, "--format", "prometheus").stdout.decode())
        self.assertEqual(found["toolhost_ready", None], 0)

    def test_any_provider(self):
        done = self.toolhost("status", "--format", "prometheus")
        self.assertIn(("toolhost_ready", None), metrics(done.stdout.decode()))

    def test_usage(self):
        for options in (("--format", "openai"), ("--json", "--format", "prometheus"), ("--json", "--metrics", "x"), ("word",), ("--watch",),
                        ("--watch", "5"), ("--watch", "0s"), ("--watch", "99ms"), ("--watch", "25h"), ("--watch", "soon")):
            self.assertEqual(self.status(*options).returncode, 2, options)


class Watch(HostTest):
    def start(self, *options, **more):
        process = subprocess.Popen([TOOLHOST, "status", "--watch", *options], stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                                   env=self.environment(TOOLHOST_PLUGIN=PROVIDER), **{"stdout": subprocess.PIPE, **more})
        self.addCleanup(process.stdout.close if process.stdout else lambda: None)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def line(self, process, begin):
        """The next line that begins so; each look has one."""
        for line in process.stdout:
            if line.startswith(begin):
                return line
        raise AssertionError(f"it ended with {process.wait()}, without {begin}")

    def test_each_look_is_a_new_one(self):
        policy = self.path("policy.json", "{}")
        process = self.start("100ms", "--policy", policy)
        self.assertRegex(self.line(process, "at "), r"\Aat      \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n\Z")
        self.assertRegex(self.line(process, "policy "), "[0-9a-f]{64}")
        self.path("policy.json", '{"nonsense": 1}')
        self.line(process, "error ")
        self.path("policy.json", "{}")
        self.assertRegex(self.line(process, "policy  "), "[0-9a-f]{64}")
        self.assertIsNone(process.poll())

    def test_the_other_forms(self):
        process = self.start("100ms", "--json")
        for _ in range(2):
            self.line(process, "{")
            self.line(process, "}")
        process = self.start("100ms", "--format", "prometheus")
        for _ in range(2):
            self.line(process, "toolhost_ready ")
        path = self.path("metrics.prom", "")
        self.start("100ms", "--metrics", path)
        seen = set()
        deadline = time.monotonic() + PATIENCE
        while len(seen) < 3 and time.monotonic() < deadline:
            seen.add(os.stat(path).st_ino)
            time.sleep(0.01)
        self.assertEqual(len(seen), 3, "it is written again and again")

    def test_a_signal_ends_it(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            process = self.start("1h")
            self.line(process, "at ")
            self.assertIsNone(process.poll(), "control")
            process.send_signal(sent)
            self.assertEqual(process.wait(PATIENCE), -sent)

    def test_it_ends_with_its_reader(self):
        process = self.start("1h", "--json")
        self.line(process, "}")
        self.assertIsNone(process.poll(), "control: it waits for the next look")
        process.stdout.close()
        self.assertIn(process.wait(PATIENCE), (0, 1))

    def test_a_terminal_shows_the_last_look(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = self.start("100ms", stdout=slave)
        os.close(slave)
        seen = b""
        while seen.count(b"\033[H\033[2Jat ") < 2:
            seen += os.read(master, 65536)
        self.assertIsNone(process.poll())

    def test_a_look_that_fails_ends_it(self):
        process = self.start("1h", "--metrics", self.path("no/such/place"), stderr=subprocess.PIPE)
        self.assertIn("unwritable_file", process.communicate(timeout=PATIENCE)[1])
        self.assertEqual(process.returncode, 1)


if __name__ == "__main__":
    tap.run_unittest()
