# SPDX-License-Identifier: Apache-2.0
"""What a program sends over its stream of results, through the whole ABI. Every frame here is one that the program has made
itself: it can lie about its own results, and about nothing else; whatever it sends, the run ends as it would have without. In each mode."""
import base64
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import guest
import tap
from modes import BACKEND, RESULTS_FD, Provider, run_in_every_mode
from provider import OK, Host

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 100).decode()
VALUE, EXCEPTION, OMITTED = 1, 2, 3
SENDER = f"""
import base64, json, os, struct, sys, time
def raw(data):
    while data:
        data = data[os.write({RESULTS_FD}, data):]
def frame(kind, payload):
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    raw(struct.pack('<IB', len(data), kind) + data)
def show(data, role='display', **more):
    frame(1, dict(role=role, data=data, **more))
"""
RIGHTS = ("sandbox.exec", "sandbox.exec.secrets")
NONE = {"modes": {"default": "none", "allowed": ["none"]}, "capabilities": ["sandbox.exec", "sandbox.exec.mode.none"]}
provider = Provider()


def run(code, host=None, **more):
    return_code, result = provider.invoke({"language": "python", "code": SENDER + code, **more}, host or Host())
    tap.equal(return_code, OK, result)
    return result


def ended_well(result, stdout=""):
    tap.equal((result["status"], result["exit_code"], result["stdout"], result["error"]), ("completed", 0, stdout, None), result)


def test_a_run_without_results_has_none():
    result = run("print('only text')")
    ended_well(result, "only text\n")
    tap.equal((result["results"], result["results_omitted"], result["exception"], result["notes"]), ([], None, None, []), result)


def test_a_value_with_its_forms():
    result = run("show({'text/html': '<b>1</b>', 'text/plain': '1', 'application/json': {'a': [1, 0.1, 1e300, None]}}, role='value',"
                 "type_name='int', table={'rows': [[1.5]]}, chart=None)\nprint('printed')")
    ended_well(result, "printed\n")
    tap.equal(result["results"], [{"type": "text", "role": "value", "mime_type": "text/plain", "text": "1",
                                   "alternatives": {"application/json": '{"a":[1,0.1,1e+300,null]}', "text/html": "<b>1</b>"},
                                   "type_name": "int", "table": {"rows": [[1.5]]}, "active": True}], result)


def test_an_image_comes_first():
    result = run(f"show({{'text/plain': '<Figure>', 'image/png': '{PNG}'}}, alt='a line')")
    tap.equal(result["results"], [{"type": "image", "role": "display", "mime_type": "image/png", "data": PNG,
                                   "alternatives": {"text/plain": "<Figure>"}, "alt": "a line"}], result)


def test_specifications_and_markup_have_an_address():
    result = run("show({'application/vnd.vegalite.v5+json': {'mark': 'bar'}, 'text/plain': 'alt.Chart(...)'})\n"
                 "show({'image/svg+xml': '<svg/>'})")
    rows = [(row["type"], row["mime_type"], row["text"], row["uri"], row.get("active")) for row in result["results"]]
    beginning = f"code-execute://run/{result['run_id']}/results/"
    tap.equal(rows, [("resource", "application/vnd.vegalite.v5+json", '{"mark":"bar"}', beginning + "0", None),
                     ("resource", "image/svg+xml", "<svg/>", beginning + "1", True)], result)


def test_an_exception_is_the_programs_own():
    result = run("frame(2, {'name': 'ValueError', 'value': 'no', 'frames': [{'file': 'main.py', 'line': 3, 'function': 'f'}], 'x': 1})\n"
                 "sys.exit(1)")
    tap.equal((result["status"], result["exit_code"], result["error"]), ("completed", 1, None), result)
    tap.equal(result["exception"], {"name": "ValueError", "value": "no",
                                    "frames": [{"file": "main.py", "line": 3, "function": "f"}]}, result)


def test_what_the_program_left_out_is_said():
    result = run("frame(3, {'count': 2, 'bytes': 300, 'reason': 'max_items'})\nframe(3, {'count': 1, 'bytes': 0, 'reason': 'odd'})")
    tap.equal(result["results_omitted"], {"count": 3, "bytes": 300, "reason": "max_items"}, result)


def test_payloads_that_are_none():
    bad = ["b'nonsense'", "b'[1]'", "b''", "{'role': 'value'}", "{'role': 'other', 'data': {'text/plain': ''}}", "{'role': 'value', 'data': {}}",
           "{'role': 'value', 'data': {'text/plain': 1}}", "{'role': 'value', 'data': {'image/png': '!!'}}",
           "{'role': 'value', 'data': {'image/png': base64.b64encode(b'<html>').decode()}}",
           "{'role': 'value', 'data': {'application/x-executable': ''}}", "b'{\"role\":\"value\",\"data\":{\"text/plain\":\"\\xff\"}}'",
           "{'role': 'value', 'data': {'text/plain': '1'}, 'table': []}", "{'role': 'value', 'data': {'text/plain': '1'}, 'alt': 'x' * 2000}",
           "b'[' * 100000", "{'role': 'value', 'data': {'text/plain': 'a\\0b'}}"]
    result = run("\n".join(f"frame(1, {payload})" for payload in bad) + "\nframe(2, {'name': 'E'})\nframe(3, {'count': -1})\n"
                 "show({'text/plain': 'good'})")
    ended_well(result)
    tap.equal([row["text"] for row in result["results"]], ["good"], result)
    tap.equal((result["results_omitted"]["count"], result["exception"]), (len(bad) + 2, None), result)


def test_budgets():
    def case():
        result = run(f"""
show({{'text/plain': 'x' * 11, 'text/html': 'short'}})
show({{'image/png': '{PNG}', 'text/plain': 'fig'}})
for i in range(4): show({{'text/plain': str(i)}})""")
        ended_well(result)
        tap.equal([row["text"] for row in result["results"]], ["xxxxxxx...", "fig", "0"], result)
        tap.equal((result["results"][0]["alternatives"], result["results"][0]["truncated"]), ({"text/html": "short"}, True), result)
        tap.equal(result["results_omitted"]["reason"], "text_bytes", result)
        tap.equal(result["results_omitted"]["count"], 5, result)

    provider.with_policy({"results": {"max_items": 3, "text_bytes": 10, "image_bytes": 100}}, case)


def test_the_whole_of_the_budget():
    def case():
        result = run("for i in range(20): show({'text/plain': 'x' * 1000})\nshow({'text/plain': 'small'})")
        ended_well(result)
        tap.equal([len(row["text"]) for row in result["results"]], [1000] * 9 + [5], result)
        tap.equal((result["results_omitted"]["count"], result["results_omitted"]["reason"]), (11, "total_bytes"), result)

    provider.with_policy({"results": {"total_bytes": 10000}}, case)


def test_no_results_by_policy():
    def case():
        result = run(f"import errno\ntry: os.write({RESULTS_FD}, b'x')\nexcept OSError as e: print(errno.errorcode[e.errno])")
        ended_well(result, "EBADF\n")

    provider.with_policy({"results": {"max_items": 0}}, case)


def test_other_languages_have_no_stream():
    code = "for fd in $(seq 3 9) $(seq 11 255); do [ -e /proc/$$/fd/$fd ] && echo $fd; done; [ -e /proc/$$/fd/2 ] && echo control"
    result = provider.invoke({"language": "sh", "code": code}, Host())[1]  # 10: the shell's own, its script
    tap.equal(result["stdout"], "control\n", result)


def test_garbage_ends_the_stream_and_nothing_else():
    result = run("show({'text/plain': 'before'})\nraw(b'\\xff' * 5)\nshow({'text/plain': 'behind'})\nraw(b'x' * 1000000)\nprint('went on')")
    ended_well(result, "went on\n")
    tap.equal([row["text"] for row in result["results"]], ["before"], result)
    tap.equal(result["notes"], ["the program's stream of results was not understood; what came behind that place was dropped"])


def test_half_a_frame():
    for end in ("", "raw(b'\\x05')", "raw(struct.pack('<IB', 10, 1) + b'{')"):
        result = run(f"show({{'text/plain': 'whole'}})\n{end}")
        ended_well(result)
        tap.equal(len(result["results"]), 1, result)
        tap.equal((result["results_omitted"] or {}).get("reason"), "incomplete" if end else None, result)


def test_frames_of_a_guest_are_only_garbage():
    """Its words about the end, the output and the files; the control is the frame of the program's before them."""
    files = guest.frame("files", guest.file_frames("forged", b"x")) + guest.frame("collected")
    forged = guest.ended(9) + guest.frame("stdout", b"forged") + files
    for data in (forged, forged[:3], guest.frame("ended", b"x" * 300)):
        result = run(f"show({{'text/plain': 'before'}})\nraw({data!r})\nprint('went on')")
        ended_well(result, "went on\n")
        tap.equal(([row["text"] for row in result["results"]], result["files"], result["files_omitted"]), (["before"], [], None), result)


def test_silence_in_the_middle_of_a_frame_ends_with_the_run():
    result = run("show({'text/plain': 'so far'})\nraw(struct.pack('<IB', 10, 1) + b'{')\nwhile True: time.sleep(1000)", timeout_ms=1500)
    tap.equal((result["status"], result["cause"]), ("timeout", "wall_timeout"), result)
    tap.equal([row["text"] for row in result["results"]], ["so far"], result)


def test_a_flood_is_read_and_ended_as_output_is():
    result = run("raw(struct.pack('<IB', 200 << 20, 1))\nwhile True: raw(b'x' * 65536)")
    tap.equal((result["status"], result["cause"], result["results"]), ("killed", "output_limit", []), result)


def test_a_result_that_is_too_long_holds_nobody_up():
    result = run("frame(1, b'x' * (17 << 20))\nshow({'text/plain': 'small'})\nprint('went on')")
    ended_well(result, "went on\n")
    tap.equal([row["text"] for row in result["results"]], ["small"], result)
    tap.equal(result["results_omitted"], {"count": 1, "bytes": 17 << 20, "reason": "total_bytes"}, result)


def test_a_child_that_keeps_the_stream_is_not_waited_for():
    began = time.monotonic()
    result = run("if os.fork() == 0:\n    time.sleep(3600)\nshow({'text/plain': 'parent'})")
    ended_well(result)
    tap.equal([row["text"] for row in result["results"]], ["parent"], result)
    tap.true(result["duration_ms"] < 9000 * tap.SLOW and time.monotonic() - began < 3000, "it was not waited for")


def test_commands_of_the_program_have_no_stream():
    result = run("import subprocess\nprint(subprocess.run(['sh', '-c', "
                 f"'for fd in 1 {RESULTS_FD}; do [ -e /proc/$$/fd/$fd ]; echo $?; done'], capture_output=True, text=True).stdout.split())")
    tap.equal(result["stdout"], "['0', '1']\n", result)


def test_partial_results_of_a_killed_run():
    result = run("show({'text/plain': 'so far'})\nwhile True: pass", timeout_ms=1500)
    tap.equal((result["status"], [row["text"] for row in result["results"]]), ("timeout", ["so far"]), result)


def test_secrets_are_redacted():
    host = Host(RIGHTS, secrets={"KEY": b"hunter2-and-more"})
    code = f"""
key = os.environ['KEY']
show({{'text/plain': 'a ' + key + ' b', 'application/json': {{key: [key, {{'deep': key}}]}}}}, type_name=key, table={{'rows': [[key]]}})
show({{'image/png': '{PNG}'}})
frame(1, {{'role': 'display', 'data': {{'text/plain': 'clean'}}, key: 1}})
frame(2, {{'name': key, 'value': key, 'frames': [{{'file': key, 'line': 1, 'function': key}}]}})
"""
    policy = {"secrets": {"allowed": ["KEY"]}}

    def case():
        return run(code, host, secrets={"KEY": "{{secret:KEY}}"})
    result = provider.with_policy(policy, case)
    ended_well(result)
    tap.lacks(json.dumps(result), "hunter2", "a secret in the result")
    tap.equal(result["results"][0]["text"], "a [redacted:KEY] b", result)
    tap.equal(result["exception"]["name"], "[redacted:KEY]", result)
    tap.equal([row["text"] for row in result["results"][1:]], ["clean"], "the image is withheld")
    tap.equal(result["results_omitted"]["reason"], "withheld", result)
    tap.contains(" ".join(result["notes"]), "secrets were redacted from the results in")
    tap.contains(" ".join(result["notes"]), "images were withheld")
    shown = provider.with_policy({**policy, "results": {"images_with_secrets": True}}, case)
    tap.equal((shown["results"][1]["data"], shown["results"][1]["not_scanned"]), (PNG, True), shown)


def test_mode_none():
    def case():
        result = run("show({'text/plain': 'unconfined'})\nprint(1)", Host(("sandbox.exec", "sandbox.exec.mode.none")))
        ended_well(result, "1\n")
        tap.equal([row["text"] for row in result["results"]], ["unconfined"], result)

    provider.with_policy(NONE, case)


def test_started_ahead():
    def case():
        for _ in range(3):
            result = run("show({'text/plain': 'ahead'})")
            ended_well(result)
            tap.equal(([row["text"] for row in result["results"]], result["notes"]), (["ahead"], []), result)

    provider.with_policy({"pools": {BACKEND: {"ready": 2}}}, case)


# What is a result, and what of the results is shown.
OF_THE_GATEWAY = ["specifications_and_markup_have_an_address", "an_exception_is_the_programs_own", "what_the_program_left_out_is_said",
                  "payloads_that_are_none", "budgets", "the_whole_of_the_budget", "half_a_frame", "secrets_are_redacted", "mode_none"]
run_in_every_mode(globals(), OF_THE_GATEWAY)
