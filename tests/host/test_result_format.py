# SPDX-License-Identifier: Apache-2.0
"""toolhost invoke --format: what becomes of each kind of result, as whole documents."""

import json
import os

import tap
from support import HostTest

SCRIPTED = os.environ["SCRIPTED_PROVIDER"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]
JSON_FORMATS = ("openai", "openai-shell", "anthropic", "gemini", "e2b")
RAN, NOT_RUN = 0, 1

COMPLETED = {"status": "completed", "stdout": "out\n", "stderr": "err\n", "exit_code": 0, "signal": None,
             "timed_out": False, "error": None}
MEMORY = {"code": "memory_limit", "message": "too much memory", "hint": "use less", "retryable": False}
DENIED = {"code": "approval_denied", "message": "no", "hint": "ask", "retryable": False}
RESULTS = {
    "completed": (RAN, COMPLETED),
    "failed": (RAN, {**COMPLETED, "exit_code": 3}),
    "timeout": (RAN, {**COMPLETED, "status": "timeout", "timed_out": True, "exit_code": None, "signal": "SIGKILL",
                      "error": {"code": "timeout", "message": "timeout", "hint": "be quick", "retryable": False}}),
    "killed": (RAN, {**COMPLETED, "status": "killed", "exit_code": None, "signal": "SIGKILL", "error": MEMORY}),
    "cancelled": (RAN, {**COMPLETED, "status": "cancelled", "exit_code": None, "signal": "SIGKILL"}),
    "denied": (NOT_RUN, {"status": "denied", "stdout": "", "stderr": "", "exit_code": None, "error": DENIED}),
    "garbled": (NOT_RUN, {"status": "error", "error": {"code": "invalid_input", "message": "m", "hint": ""}}),
    "busy": (NOT_RUN, {"status": "error", "error": {"code": "too_many_requests", "message": "m", "hint": ""}}),
    "other": (RAN, {"sum": 42}),
    "rich": (RAN, {**COMPLETED, "files": [{"path": "a.csv", "bytes": 3}, {"file_id": "f1", "path": "b"}, {}],
                   "results": [{"type": "text", "text": "2"}, {"type": "image", "mime_type": "image/png", "data": "iVBO"},
                               {"type": "resource", "mime_type": "x/y", "data": "AA"}]}),
    "shown": (RAN, {**COMPLETED, "stdout": "out", "stderr": "", "files": [
        {"path": "c.jpg", "mime_type": "image/jpeg", "encoding": "base64", "content": "/9j/", "size": 3},
        {"path": "l.png", "mime_type": "image/png", "size": 9000000, "uri": "toolhost://run/0/l.png"}], "results": [
        {"type": "image", "role": "display", "mime_type": "image/png", "data": "iVBO", "alternatives": {"text/plain": "<Figure>"},
         "chart": {"type": "line"}},
        {"type": "resource", "role": "display", "mime_type": "application/vnd.vegalite.v5+json", "text": '{"mark": "bar"}'},
        {"type": "resource", "role": "display", "mime_type": "text/html", "text": "<b>", "alternatives": {"text/plain": "bold"}},
        {"type": "resource", "role": "display", "mime_type": "application/json", "text": '{"a": [1]}'},
        {"type": "text", "role": "value", "mime_type": "text/plain", "text": " a  b\n 1", "table": {
            "columns": [{"name": "a", "type": "int64"}, {"name": "b", "type": "string"}], "rows": [[1, "x"], [2]]}}]}),
    "raised": (RAN, {**COMPLETED, "exit_code": 1, "exception": {"name": "ValueError", "value": "no", "frames": []}}),
}
SHOWN = 'out\nbold\n{"a": [1]}\n a  b\n 1\n'
WHY = "approval_denied: no\nhint: ask"


def shell(out, err, status="completed", **end):
    return {"type": "shell_call_output", "status": status,
            "output": [{"stdout": out, "stderr": err, "outcome": end or {"type": "timeout"}}]}


def anthropic(out, err, code, *files):
    return {"type": "code_execution_result", "stdout": out, "stderr": err, "return_code": code,
            "content": [{"type": "code_execution_output", "file_id": file} for file in files]}


def anthropic_error(code):
    return {"type": "code_execution_tool_result_error", "error_code": code}


def gemini(outcome, output, *pictures):
    return {"parts": [{"codeExecutionResult": {"outcome": "OUTCOME_" + outcome, "output": output}},
                      *({"inlineData": {"mimeType": mime_type, "data": data}} for mime_type, data in pictures)]}


def openai(logs, *pictures, status="completed"):
    return {"type": "code_interpreter_call", "status": status, "outputs": [
        {"type": "logs", "logs": logs}, *({"type": "image", "url": f"data:{mime_type};base64,{data}"} for mime_type, data in pictures)]}


def e2b(out, err, results=(), **error):
    return {"results": list(results), "logs": {"stdout": [out] if out else [], "stderr": [err] if err else []},
            "error": error or None}


LIMIT = "err\nmemory_limit: too much memory\nhint: use less\n"
PICTURES = (("image/png", "iVBO"), ("image/jpeg", "/9j/"))
EXPECTED = {
    "openai": {
        "completed": openai("out\nerr\n"),
        "failed": openai("out\nerr\n"),
        "timeout": openai("out\nerr\n", status="incomplete"),
        "killed": openai("out\n" + LIMIT),
        "cancelled": openai("out\nerr\n", status="incomplete"),
        "denied": openai(WHY + "\n", status="failed"),
        "garbled": openai("invalid_input: m\n", status="failed"),
        "busy": openai("too_many_requests: m\n", status="failed"),
        "other": openai('{"sum":42}'),
        "rich": openai("out\n2\nerr\n", ("image/png", "iVBO")),
        "shown": openai(SHOWN, *PICTURES),
        "raised": openai("out\nerr\n"),
    },
    "openai-shell": {
        "completed": shell("out\n", "err\n", type="exit", exit_code=0),
        "failed": shell("out\n", "err\n", type="exit", exit_code=3),
        "timeout": shell("out\n", "err\n"),
        "killed": shell("out\n", LIMIT, type="exit", exit_code=137),
        "cancelled": shell("out\n", "err\n", "incomplete", type="exit", exit_code=130),
        "denied": shell("", WHY + "\n", type="exit", exit_code=125),
        "garbled": shell("", "invalid_input: m\n", type="exit", exit_code=125),
        "busy": shell("", "too_many_requests: m\n", type="exit", exit_code=125),
        "other": shell('{"sum":42}', "", type="exit", exit_code=0),
        "rich": shell("out\n2\n", "err\n", type="exit", exit_code=0),
        "shown": shell(SHOWN, "", type="exit", exit_code=0),
        "raised": shell("out\n", "err\n", type="exit", exit_code=1),
    },
    "anthropic": {
        "completed": anthropic("out\n", "err\n", 0),
        "failed": anthropic("out\n", "err\n", 3),
        "timeout": anthropic_error("execution_time_exceeded"),
        "killed": anthropic("out\n", LIMIT, 137),
        "cancelled": anthropic("out\n", "err\n", 130),
        "denied": anthropic_error("unavailable"),
        "garbled": anthropic_error("invalid_tool_input"),
        "busy": anthropic_error("too_many_requests"),
        "other": anthropic('{"sum":42}', "", 0),
        "rich": anthropic("out\n2\n", "err\n", 0, "a.csv", "f1"),
        "shown": anthropic(SHOWN, "", 0, "c.jpg", "toolhost://run/0/l.png"),
        "raised": anthropic("out\n", "err\n", 1),
    },
    "gemini": {
        "completed": gemini("OK", "out\n"),
        "failed": gemini("FAILED", "err\nout\n"),
        "timeout": gemini("DEADLINE_EXCEEDED", "err\nout\n"),
        "killed": gemini("FAILED", LIMIT + "out\n"),
        "cancelled": gemini("FAILED", "err\nout\n"),
        "denied": gemini("FAILED", WHY + "\n"),
        "garbled": gemini("FAILED", "invalid_input: m\n"),
        "busy": gemini("FAILED", "too_many_requests: m\n"),
        "other": gemini("OK", '{"sum":42}'),
        "rich": gemini("OK", "out\n2\n", ("image/png", "iVBO")),
        "shown": gemini("OK", SHOWN, *PICTURES),
        "raised": gemini("FAILED", "err\nout\n"),
    },
    "e2b": {
        "completed": e2b("out\n", "err\n"),
        "failed": e2b("out\n", "err\n", name="exit", value="exit status 3", traceback="err\n"),
        "timeout": e2b("out\n", "err\n", name="timeout", value="timeout", traceback="err\n"),
        "killed": e2b("out\n", "err\n", name="memory_limit", value="too much memory", traceback="err\n"),
        "cancelled": e2b("out\n", "err\n", name="exit", value="exit status 130", traceback="err\n"),
        "denied": e2b("", "", name="approval_denied", value="no", traceback=WHY),
        "garbled": e2b("", "", name="invalid_input", value="m", traceback="invalid_input: m"),
        "busy": e2b("", "", name="too_many_requests", value="m", traceback="too_many_requests: m"),
        "other": e2b('{"sum":42}', ""),
        "rich": e2b("out\n", "err\n", [{"text": "2"}, {"png": "iVBO"}, {"extra": {"x/y": "AA"}}]),
        "shown": e2b("out", "", [
            {"png": "iVBO", "text": "<Figure>", "chart": {"type": "line"}, "is_main_result": False},
            {"extra": {"application/vnd.vegalite.v5+json": {"mark": "bar"}}, "is_main_result": False},
            {"html": "<b>", "text": "bold", "is_main_result": False},
            {"json": {"a": [1]}, "is_main_result": False},
            {"text": " a  b\n 1", "data": {"a": [1, 2], "b": ["x", None]}, "is_main_result": True}]),
        "raised": e2b("out\n", "err\n", name="ValueError", value="no", traceback="err\n"),
    },
    "text": {
        "completed": "exit_code: 0\nstdout:\nout\nstderr:\nerr\n",
        "failed": "exit_code: 3\nstdout:\nout\nstderr:\nerr\n",
        "timeout": "error: timeout: timeout\nhint: be quick\nexit_code: none, the program reached its time limit\nstdout:\nout\nstderr:\nerr\n",
        "killed": "error: memory_limit: too much memory\nhint: use less\n"
                  "exit_code: 137\nstdout:\nout\nstderr:\nerr\n",
        "cancelled": "exit_code: 130\nstdout:\nout\nstderr:\nerr\n",
        "denied": "error: " + WHY + "\n",
        "garbled": "error: invalid_input: m\n",
        "busy": "error: too_many_requests: m\n",
        "other": 'exit_code: 0\nstdout:\n{"sum":42}\nstderr:\n',
        "rich": "exit_code: 0\nstdout:\nout\n2\nstderr:\nerr\nfiles:\na.csv\nf1\n?\n",
        "shown": "exit_code: 0\nstdout:\n" + SHOWN + "stderr:\nfiles:\nc.jpg\ntoolhost://run/0/l.png\n",
        "raised": "exit_code: 1\nstdout:\nout\nstderr:\nerr\n",
    },
}


class Documents(HostTest):
    def formatted(self, form, status, result):
        done = self.toolhost("invoke", "--format", form, "--audit", "/dev/null", stdin=b"{}", TOOLHOST_PLUGIN=SCRIPTED,
                             SCRIPTED_RESULT=self.path("result.json", json.dumps(result)), SCRIPTED_STATUS=str(status))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def check(self, form):
        self.assertEqual(set(EXPECTED[form]), set(RESULTS))
        for kind, (status, result) in RESULTS.items():
            done = self.formatted(form, status, result)
            text = done.stdout.decode()
            self.assertTrue(text.endswith("\n"), kind)
            self.assertEqual(text if form == "text" else json.loads(text), EXPECTED[form][kind], (form, kind))
            # What an answer has no room for is on standard error.
            if status == NOT_RUN:
                self.assertIn(f"toolhost: {result['error']['code']}: ".encode(), done.stderr)

    def test_openai(self):
        self.check("openai")

    def test_openai_shell(self):
        self.check("openai-shell")

    def test_anthropic(self):
        self.check("anthropic")

    def test_gemini(self):
        self.check("gemini")

    def test_e2b(self):
        self.check("e2b")

    def test_text(self):
        self.check("text")


class Providers(HostTest):
    def test_no_provider(self):
        for form in JSON_FORMATS:
            done = self.toolhost("invoke", "--format", form, stdin=b"{}", TOOLHOST_PLUGIN="/nowhere.so")
            self.assertEqual(done.returncode, 1)
            self.assertTrue(json.loads(done.stdout), form)

    def test_the_real_one_refuses(self):
        done = self.toolhost("invoke", "--format", "text", "--audit", "/dev/null", "--approve", "never",
                             stdin=b'{"language": "sh", "code": "echo ran"}', TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode(), r"\Aerror: approval_denied: .*\nhint: .*\n\Z")

    def test_the_real_one_runs(self):
        self.needs_its_mode()
        done = self.toolhost("invoke", "--format", "openai-shell", "--audit", "/dev/null", "--approve", "always",
                             stdin=b'{"language": "sh", "code": "echo out; echo err >&2; exit 3"}',
                             TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual(json.loads(done.stdout), shell("out\n", "err\n", type="exit", exit_code=3))


if __name__ == "__main__":
    tap.run_unittest()
