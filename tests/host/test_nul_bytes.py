# SPDX-License-Identifier: Apache-2.0
"""Programs print any bytes, NUL too: toolhost gives all of them back, with the program's exit status."""

import json
import os

import tap
from support import HostTest

SCRIPTED = os.environ["SCRIPTED_PROVIDER"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]

# What programs print that has NUL bytes in it: the code, its output, its exit status.
PROGRAMS = {
    "find -print0": ("sh", "mkdir d; cd d; touch 'a b' c; find . -type f -print0 | sort -z", b"./a b\0./c\0", 0),
    "UTF-16": ("python", "import sys; sys.stdout.buffer.write('hi\\n'.encode('utf-16-le'))", b"h\0i\0\n\0", 0),
    "one NUL": ("python", "import sys; sys.stdout.write('a\\0b')", b"a\0b", 0),
    "nothing but NUL": ("sh", r"printf '\000'", b"\0", 0),
    "and fails": ("sh", r"printf 'a\000b'; printf 'c\000d' >&2; exit 3", b"a\0b", 3),
}

NUL = {"status": "completed", "stdout": "a\0b\n", "stderr": "c\0d", "exit_code": 3, "signal": None, "timed_out": False,
       "error": None}
MEMORY = {"code": "memory_limit", "message": "too\0much", "hint": "use\0less", "retryable": False}
KILLED = {**NUL, "status": "killed", "exit_code": None, "signal": "SIGKILL", "error": MEMORY}


class RealPrograms(HostTest):
    def setUp(self):
        super().setUp()
        self.needs_its_mode()

    def real(self, *arguments, **more):
        return self.toolhost(*arguments, "--approve", "always", "--audit", self.audit_file, TOOLHOST_PLUGIN=CODE_EXECUTE, **more)

    def test_run(self):
        for what, (language, code, out, status) in PROGRAMS.items():
            with self.subTest(what):
                done = self.real("run", "--quiet", "-l", language, "-c", code)
                self.assertEqual((done.returncode, done.stdout), (status, out), done.stderr)
        self.assertEqual(self.toolhost("audit", "verify", self.audit_file).returncode, 0)

    def test_run_environment_of_the_process(self):
        done = self.real("run", "-l", "sh", "-c", "cat /proc/self/environ", "--env", "ONE=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"ONE=1", done.stdout.split(b"\0"))

    def test_invoke(self):
        for what, (language, code, out, status) in PROGRAMS.items():
            with self.subTest(what):
                done = self.real("invoke", stdin=json.dumps({"language": language, "code": code}).encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                result = json.loads(done.stdout)
                self.assertEqual((result["stdout"].encode(), result["exit_code"]), (out, status))


class Results(HostTest):
    """Whole documents, of a provider that says what a file says."""

    def scripted(self, command, result, *arguments, status=0):
        return self.toolhost(command, *arguments, "--audit", "/dev/null", stdin=b"{}", TOOLHOST_PLUGIN=SCRIPTED,
                             SCRIPTED_RESULT=self.path("result.json", json.dumps(result)), SCRIPTED_STATUS=str(status))

    def formatted(self, form, result):
        done = self.scripted("invoke", result, "--format", form)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout if form == "text" else json.loads(done.stdout)

    def test_invoke(self):
        self.assertEqual(json.loads(self.scripted("invoke", NUL).stdout), NUL)

    def test_run_prints_output_that_was_not_streamed(self):
        done = self.scripted("run", NUL, "-l", "sh", "-c", "x")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"a\0b\n", b"c\0d"))

    def test_openai_shell(self):
        self.assertEqual(self.formatted("openai-shell", NUL)["output"],
                         [{"stdout": "a\0b\n", "stderr": "c\0d", "outcome": {"type": "exit", "exit_code": 3}}])
        self.assertTrue(self.formatted("openai-shell", KILLED)["output"][0]["stderr"].startswith("c\0d\nmemory_limit: "))

    def test_anthropic(self):
        document = self.formatted("anthropic", NUL)
        self.assertEqual((document["stdout"], document["stderr"], document["return_code"]), ("a\0b\n", "c\0d", 3))

    def test_gemini(self):
        self.assertEqual(self.formatted("gemini", NUL)["parts"][0]["codeExecutionResult"]["output"], "c\0da\0b\n")
        self.assertEqual(self.formatted("gemini", {**NUL, "exit_code": 0})["parts"][0]["codeExecutionResult"]["output"], "a\0b\n")

    def test_e2b(self):
        document = self.formatted("e2b", NUL)
        self.assertEqual(document["logs"], {"stdout": ["a\0b\n"], "stderr": ["c\0d"]})
        self.assertEqual(document["error"]["traceback"], "c\0d")

    def test_text(self):
        self.assertEqual(self.formatted("text", NUL), b"exit_code: 3\nstdout:\na\0b\nstderr:\nc\0d\n")

    def test_a_tool_that_runs_no_program(self):
        self.assertEqual(json.loads(self.formatted("anthropic", {"sum": "4\0002"})["stdout"]), {"sum": "4\0002"})

    def test_words_of_a_refusal_are_shown_whole(self):
        done = self.scripted("run", {"status": "error", "error": MEMORY}, "-l", "sh", "-c", "x", status=1)
        self.assertEqual(done.returncode, 125)
        self.assertIn("too\u2400much".encode(), done.stderr)
        self.assertIn("use\u2400less".encode(), done.stderr)


if __name__ == "__main__":
    tap.run_unittest()
