# SPDX-License-Identifier: Apache-2.0
"""The secrets of a session: every cell can read them from the first one on, no output of any cell shows them, whoever approves a cell is
told of them, and they end with the session. Each redaction has a text beside it that is no secret, and that comes through."""
import base64
import hashlib
import json
import pathlib
import re
import sys

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from modes import Provider, gateway, merged
from provider import ACCEPTED, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets")
VALUES = {"my-key": b"the-value-of-the-key", "other": b"what-no-one-may-see"}
SECRETS = {"KEY": "{{secret:my-key}}"}
MARK = "[redacted:my-key]"
AMPLE_MS = 60000 * tap.SLOW
POLICY = {"sessions": {"max_total": 6, "max_per_principal": 6}, "secrets": {"allowed": ["*"]},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
READ = "import os\nvalue = os.environ['KEY']"
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def caller(rights=RIGHTS, principal="ann", policy=None, **more):
    context = {"principal": principal, **({"policy": policy} if policy else {})}
    return Host(rights, secrets=VALUES, context=context, **more)


def call(code, session="new", host=None, **more):
    return provider.invoke({"language": "python", "code": code, "session": session, **more}, host or caller())[1]


def cell(code, session="new", host=None, **more):
    """The result of a cell that ends by itself, and leaves its session. None of its members has a value."""
    result = call(code, session, host, **more)
    tap.equal((result["status"], result["error"], result["session"]["state"]), ("completed", None, "kept"), result)
    for value in VALUES.values():
        tap.lacks(json.dumps(result), value.decode())
    return result


def begin(code=READ, secrets=None, **more):
    return cell(code, secrets=secrets or SECRETS, **more)["session"]["id"]


def expect_refused(code, session="new", host=None, **more):
    result = call("print('not run')", session, host, **more)
    tap.equal((result["error"] and result["error"]["code"], result["stdout"]), (code, ""), result)
    return result["error"]


def test_every_cell_has_them():
    use()
    seen = "import hashlib, os, subprocess\nvalue = os.environ['KEY']\nprint(hashlib.sha256(value.encode()).hexdigest()[:8], len(value))"
    wanted = cell(seen, secrets=SECRETS)
    session = wanted["session"]["id"]
    tap.equal(wanted["stdout"], hashlib.sha256(VALUES["my-key"]).hexdigest()[:8] + " 20\n")
    cell("x = 2", session)
    tap.equal(cell(seen, session)["stdout"], wanted["stdout"], "the third cell")
    policys = cell("import os\nprint(os.environ['TZ'], len(os.environ['TZ']))", secrets={"TZ": "{{secret:my-key}}"})
    tap.equal(policys["stdout"], f"{MARK} 20\n", "in the place of a variable of the policy")
    tap.equal(cell("print(os.environ['TZ'], len(os.environ['TZ']))", policys["session"]["id"])["stdout"], f"{MARK} 20\n")
    child = "print(subprocess.run(['sh', '-c', 'echo ${#KEY}'], capture_output=True, text=True).stdout, end='')"
    tap.equal(cell(child, session)["stdout"], "20\n", "and a program that it starts")


def test_a_cells_own_variable_is_put_back():
    use()
    session = begin()
    tap.equal(cell("print(os.environ['KEY'], os.environ['MORE'])", session, env={"KEY": "mine", "MORE": "1"})["stdout"], "mine 1\n")
    tap.equal(cell("print(len(os.environ['KEY']), os.environ.get('MORE'))", session)["stdout"], "20 None\n")
    mixed = begin("import os\nprint(len(os.environ['KEY']), os.environ['A'])", env={"A": "a"})
    tap.equal(cell("print(len(os.environ['KEY']), os.environ.get('A'))", mixed)["stdout"], "20 None\n", "of the first cell too")


def test_no_output_of_any_cell_shows_them():
    use()
    session = begin()
    shown = ("import base64, sys\nprint('plain', value)\nprint(base64.b64encode(value.encode()).decode())\nprint(value.encode().hex())\n"
             "print('kept', value, file=sys.stderr)")
    encoded = base64.b64encode(VALUES["my-key"]).decode()
    for _ in range(3):
        host = caller()
        result = cell(shown, session, host)
        tap.equal((result["stdout"].count(MARK), result["stderr"]), (3, f"kept {MARK}\n"), result)
        tap.contains(result["stdout"], "plain ")
        tap.lacks(result["stdout"], encoded[:20])
        tap.lacks(host.output[1] + host.output[2], VALUES["my-key"], "nor what the gateway sees as it comes")
        tap.true("secrets were redacted from stdout in 3 places (best effort)" in result["notes"], result["notes"])
    free = cell("print('cGxhaW4=', 'the-value-of-another')", session)["stdout"]
    tap.equal(free, "cGxhaW4= the-value-of-another\n", "the control")


def test_no_result_shows_them():
    use()
    session = begin()
    tap.equal(cell("['plain', value]", session)["results"][-1]["text"], f"['plain', '{MARK}']")
    exception = cell("raise ValueError('plain ' + value)", session)["exception"]
    tap.equal((exception["name"], exception["value"]), ("ValueError", f"plain {MARK}"))
    named = cell("globals()['plain_' + value.replace('-', '_')] = 1\nglobals()['_'] = 1", session)
    tap.equal(named["session"]["defined"], ["os", "value", "plain_the_value_of_the_key"], "the control: another text")
    use(secrets={"allowed": ["*"]})
    names = caller()
    names.secrets = {"my-key": b"a_name_that_is_secret"}
    approver = Approver(host=names)
    session = approver("import os\nglobals()[os.environ['KEY']] = 1\nlong = 1", secrets=SECRETS)["session"]
    tap.equal(session["defined"], ["os", MARK, "long"])
    approver("globals()['x' * 70 + os.environ['KEY']] = 1", session["id"])
    last = approver("1", session["id"])["session"]
    tap.equal(last["defined"], ["os", MARK, "long", "x" * 70 + MARK], "no longer than names are")
    tap.lacks(json.dumps(approver.asked), "a_name_that_is_secret", "nor does an approver see them")


def test_late_output_shows_none():
    use()
    session = begin()
    late = ("import subprocess\nsubprocess.Popen(['sh', '-c', 'read go; echo plain $KEY; echo err $KEY >&2; echo behind'], stdin=subprocess.PIPE)\n"
            "child = [it for it in __import__('gc').get_objects() if type(it) is subprocess.Popen][0]")
    cell(late, session)
    result = cell("child.stdin.write(b'go\\n'); child.stdin.close()\nchild.wait()\nprint('done')", session)["session"]
    last = cell("1", session)["session"]
    tap.equal(result["late_stdout"] + last["late_stdout"], f"plain {MARK}\nbehind\n")
    tap.equal(result["late_stderr"] + last["late_stderr"], f"err {MARK}\n")


def test_a_cell_shows_no_image():
    use()
    image = "class Image:\n    def _repr_png_(self):\n        return bytes.fromhex('89504e470d0a1a0a') + bytes(60)\nImage()"
    result = cell(image, begin())
    tap.equal([shown["type"] for shown in result["results"]], ["text"], result)
    tap.true(any("images were withheld" in note for note in result["notes"]), result["notes"])
    control = cell(image, cell("x = 1")["session"]["id"])
    tap.equal([shown["type"] for shown in control["results"]], ["image"], control)


class Approver:
    """Answers each question in the same way, and keeps it."""

    def __init__(self, decision="allow_once", **more):
        self.decision, self.asked, self.host = decision, [], more.pop("host", None)
        self.more = more

    def ask(self, token, request, _verdict):
        self.asked.append(json.loads(request))
        tap.equal(provider.reply(token, {"decision": self.decision}), ACCEPTED)

    def __call__(self, code, session="new", **more):
        host = caller(request_approval=self.ask, **self.more)
        if self.host:
            host.secrets = self.host.secrets
        return call(code, session, host, **more)


def test_approvers_are_told():
    use()
    approver = Approver()
    result = approver(READ, secrets=SECRETS)
    session = result["session"]["id"]
    tap.true("every cell of the session can read its secrets, until it ends" in result["notes"], result["notes"])
    approver("x = 1", session)
    approver("x = 1", approver("x = 1")["session"]["id"])
    first, second, bare, last = approver.asked
    held = {"KEY": "my-key"}
    tap.equal((first["secrets"], first["session_history"]["id"], first["session_history"]["secrets"]), (held, "new", held))
    tap.equal((second["secrets"], second["session_history"]["id"], second["session_history"]["secrets"]), ({}, session, held))
    tap.equal([asked["session_history"]["secrets"] for asked in (bare, last)], [{}, {}], "the control")
    tap.lacks(json.dumps(approver.asked), "the-value-of-the-key")


def test_the_hash_covers_them():
    use()
    approver = Approver()
    for secrets in (SECRETS, {"KEY": "{{secret:other}}"}, {}):
        approver("x = 1", secrets=secrets)
    tap.equal(len({asked["request_sha256"] for asked in approver.asked}), 3)


def test_rules_see_them_in_every_cell():
    """A rule that allows what has no secrets does not allow a cell that can read some."""
    use(approval={"rules": [{"decision": "allow", "languages": ["python"], "secrets": False}]})
    approver = Approver()
    session = approver(READ, secrets=SECRETS)["session"]["id"]
    approver("x = 1", session)
    tap.equal(len(approver.asked), 2)
    other = approver("x = 1")["session"]["id"]
    approver("x = 1", other)
    tap.equal(len(approver.asked), 2, "the control: a session without secrets is allowed")
    use(secrets={"allowed": ["*"], "rules": {"my-key": {"approval": "ask"}}}, approval={"default": "allow"})
    approver = Approver()
    session = approver(READ, secrets=SECRETS)["session"]["id"]
    approver("x = 1", session)
    approver("x = 1")
    tap.equal(len(approver.asked), 2, "nor does the default, where the secret is to be asked about")


def test_a_later_cell_brings_none():
    use()
    session = begin()
    for held in (session, begin("x = 1", {"OTHER": "{{secret:other}}"}), cell("x = 1")["session"]["id"]):
        error = expect_refused("not_supported", held, secrets=SECRETS)
        tap.contains(error["message"], "a session gets its secrets with its first cell")
    tap.equal(cell("print(len(os.environ['KEY']))", session)["stdout"], "20\n", "the session is unhurt")


def test_every_cell_needs_the_capability():
    use()
    session = begin()
    without = tuple(right for right in RIGHTS if right != "sandbox.exec.secrets")
    error = expect_refused("access_denied", session, caller(without))
    tap.equal(error["message"], "access denied: sandbox.exec.secrets=my-key")
    tap.contains(error["hint"], "leave the session, which has this secret, out, or ask")
    expect_refused("access_denied", session, caller((*without, "sandbox.exec.secrets=other")))
    expect_refused("access_denied", session, caller(policy={"capabilities": list(without)}))
    for enough in (caller((*without, "sandbox.exec.secrets=my-key")), caller(policy={"capabilities": list(RIGHTS)})):
        tap.equal(cell("print(len(value))", session, enough)["stdout"], "20\n", "the control")
    bare = cell("x = 1")["session"]["id"]
    tap.equal(cell("print(x)", bare, caller(without))["stdout"], "1\n", "a session without secrets does without it")


def test_sessions_know_only_their_own():
    use()
    one, other = begin(), begin("import os\nvalue = os.environ['OTHER']", {"OTHER": "{{secret:other}}"})
    spelled = "print('-'.join(('the', 'value', 'of', 'the', 'key')), '-'.join(('what', 'no', 'one', 'may', 'see')))"
    tap.equal(call(spelled, one)["stdout"], f"{MARK} what-no-one-may-see\n")
    tap.equal(call(spelled, other)["stdout"], "the-value-of-the-key [redacted:other]\n")
    tap.equal(call(spelled)["stdout"], "the-value-of-the-key what-no-one-may-see\n", "nor does one without secrets")
    tap.equal(call("import os\nprint('KEY' in os.environ)", other)["stdout"], "False\n")


def test_they_end_with_the_session():
    use(sessions={"max_per_principal": 2})
    ended, lost = begin(), begin()
    result = call("print(value, 'plain')\nos.environ['KEY']", ended, session_action="end")
    tap.equal((result["session"]["state"], result["stdout"]), ("ended", f"{MARK} plain\n"), "the last cell's output is redacted too")
    result = call("print(value, 'plain', flush=True)\nos._exit(3)", lost)
    tap.equal((result["session"]["state"], result["stdout"]), ("lost", f"{MARK} plain\n"), result)
    evicted = begin()
    begin()
    begin()
    expect_refused("session_lost", evicted)
    fresh = call("import os\nprint('KEY' in os.environ, 'the-value-of' + '-the-key')")
    tap.equal(fresh["stdout"], "False the-value-of-the-key\n")


def secret_memory():
    """KiB of memory that is wiped on fork and left out of dumps (locked_memory.h)."""
    mappings = re.findall(r"^Size: +(\d+) kB\n(?:.*\n)*?VmFlags:(.*)\n", pathlib.Path("/proc/self/smaps").read_text(), re.M)
    return sum(int(size) for size, flags in mappings if {"wf", "dd"} <= set(flags.split()))


def test_their_redaction_is_wiped_with_the_session():
    use(sessions={"max_per_principal": 2})
    before = secret_memory()
    sessions = [begin(), begin()]
    tap.true(secret_memory() > before, "the control: sessions hold some")
    held = secret_memory()
    begin()
    tap.equal(secret_memory(), held, "an evicted one holds none, though its owner has not heard of it")
    provider.reset()
    tap.equal(secret_memory(), before, f"nor does a gateway that has shut down: {sessions}")


def test_a_child_of_the_gateway_has_none():
    script = (f"import os\np = Provider(); p.use_policy({POLICY!r}); h = Host({RIGHTS!r}, secrets={VALUES!r})\n"
              f"r = p.invoke({{'language': 'python', 'code': {READ!r}, 'session': 'new', 'secrets': {SECRETS!r}}}, h)[1]\n"
              "again = {'language': 'python', 'code': 'print(value)', 'session': r['session']['id']}\n"
              "pid = os.fork()\n"
              "if pid == 0:\n"
              "    found = p.invoke(again, h)[1]['error']['code']\n"
              "    p.forget()\n"
              "    os._exit(0 if found == 'session_not_found' else 1)\n"
              "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), p.invoke(again, h)[1]['stdout'], end='', flush=True)")
    tap.equal(gateway(script).communicate()[0], f"0 {MARK}\n")


def test_records_name_them():
    use()
    host = caller()
    session = call(READ, host=host, secrets=SECRETS)["session"]["id"]
    call("print(value)", session, host)
    told = [(record["event"], record["secrets"], record["cell"]["secrets"]) for record in host.records]
    tap.equal(told, [("start", ["my-key"], ["my-key"]), ("end", ["my-key"], ["my-key"]), ("start", [], ["my-key"]), ("end", [], ["my-key"])])
    tap.lacks(json.dumps(host.records), "the-value-of-the-key")
    host = caller()
    call("x = 1", host=host)
    tap.equal([record["cell"]["secrets"] for record in host.records], [[], []], "the control")


def test_a_secret_as_a_file():
    use(secrets={"allowed": ["*"], "delivery": {"*": "file"}})
    session = begin("import os\npath = os.environ['KEY']\nprint(path)")
    result = cell("print(path, os.environ['KEY'] == path, oct(os.stat(path).st_mode)[-3:], open(path).read())", session)
    tap.equal(result["stdout"], f"/home/sandbox/.secrets/my-key True 400 {MARK}\n")
    expect_refused("secret_unusable", session, files=[{"path": ".secrets/my-key", "content": "another"}])
    tap.equal(cell("print(open('a').read(), open(path).read())", session, files=[{"path": "a", "content": "1"}])["stdout"], f"1 {MARK}\n")


def test_beside_interpreters_that_wait():
    use(pools={"process": {"ready": 2, "most": 2}})
    session = begin()
    tap.equal(cell("print(value, len(os.environ['KEY']))", session)["stdout"], f"{MARK} 20\n")
    fresh = call("import os\nprint('KEY' in os.environ)")
    tap.equal(fresh["stdout"], "False\n")


def test_a_value_that_the_host_withholds_begins_no_session():
    use()
    host = caller()
    host.secrets = {}
    expect_refused("unknown_secret", host=host, secrets=SECRETS)
    tap.equal(provider.counters()["sessions"], 0)


def test_a_session_with_secrets_has_no_checkpoints():
    use(sessions={**POLICY["sessions"], "checkpoints": 3})
    session = begin()
    tap.equal((cell("x = 1", session)["session"]["checkpoint"], cell("x = 2", cell("x = 1")["session"]["id"])["session"]["checkpoint"]), ("secrets", "taken"))
    expect_refused("checkpoint_unavailable", session, session_action="undo")
    result = call("import os; os._exit(1)", session)
    tap.equal((result["session"]["state"], result["session"]["checkpoint"]), ("lost", "secrets"), result)


tap.run(globals())
