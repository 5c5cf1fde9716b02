# SPDX-License-Identifier: Apache-2.0
"""The attacks: files in attacks/, each with its metadata in a comment header of "name: value" lines.

  attack      number of the catalogue (A1 ... F92); the rest of the file's name tells the variant
  title       what is tried
  backends    docker, process; unprivileged: process mode without namespaces alone, which otherwise has all those of process
  expect      status and cause of the stopped run, or several with | between them
  layers      what stops it
  evidence    what an escape would show: names of canaries.py; the control must show one of them
  control B   what is taken away for the positive control of backend B: names of knockouts.py, or bare (no backend at all), none
              (mode none), timeout=MS, limit:NAME=VALUE, stream:KIND, naive, plain-secret; "impossible REASON" where there is none
  given B     knock-outs that hold for the attack too, so that it has something to attack
  may-lack    what the machine may not have: then the control is skipped where a bare run shows nothing either
  workspace   yes: the run has the one of workspace_canaries.py at /work
  timeout, arguments, stdin, language    of the request
"""
import base64
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "attacks"
LANGUAGES = {".py": "python", ".sh": "sh", ".bash": "bash", ".pl": "perl", ".js": "javascript", ".c": "sh"}
PREFERRED = (".c", ".py", ".sh", ".bash", ".pl", ".js")
SHOWN = {**LANGUAGES, ".c": "C"}
FIELD = re.compile(r"^\W*([a-z-]+(?: [a-z]+)?): (.*?)(?: \*/)?$")
KNOWN = {"attack", "title", "backends", "expect", "layers", "evidence", "control docker", "control process", "given docker",
         "given process", "may-lack", "workspace", "timeout", "arguments", "stdin"}
PROGRAM = "attack.bin"


@dataclasses.dataclass
class Attack:
    path: pathlib.Path
    fields: dict

    @property
    def name(self):
        return self.path.name

    @property
    def entry(self):
        return self.path.stem

    @property
    def number(self):
        return self.fields["attack"]

    @property
    def language(self):
        return LANGUAGES[self.path.suffix]

    @property
    def evidence(self):
        return set(self.fields["evidence"].split())

    @property
    def backends(self):
        return set(re.split(r"[ ,]+", self.fields["backends"]))

    @property
    def endings(self):
        return [tuple(ending.split()) for ending in self.fields.get("expect", "completed exit").split("|")]

    def words(self, field):
        return self.fields.get(field, "").split()

    def request(self, environment, scratch):
        request = {"language": self.language, "env": environment, "code": self.path.read_text()}
        if self.path.suffix == ".c":
            request["code"] = f"chmod 700 {PROGRAM} && exec ./{PROGRAM} \"$@\"\n"
            content = base64.b64encode(compiled(self.path, scratch).read_bytes()).decode()
            request["files"] = [{"path": PROGRAM, "content": content, "encoding": "base64"}]
        if "arguments" in self.fields:
            request["args"] = self.words("arguments")
        if "stdin" in self.fields:
            request["stdin"] = self.fields["stdin"]
        if "timeout" in self.fields:
            request["timeout_ms"] = int(self.fields["timeout"]) * tap.SLOW
        return request

    def command(self, scratch):
        """For a run without any backend."""
        if self.path.suffix == ".c":
            return [compiled(self.path, scratch)]
        return [{"python": "/usr/bin/python3", "javascript": "node"}.get(self.language, self.language), self.path]


def compiled(source, scratch):
    """Static: the image may have an older C library than the machine that compiles. ESCAPE_PROGRAMS is where they were compiled before,
    ESCAPE_KEPT where they are kept for the other programs of a build, and others may not read."""
    program = pathlib.Path(os.environ.get("ESCAPE_PROGRAMS") or scratch) / source.stem
    if not program.exists():
        kept = os.environ.get("ESCAPE_KEPT")
        if kept and os.access(os.path.dirname(kept), os.W_OK):
            os.makedirs(kept, exist_ok=True)
            shutil.copyfile(kept_program(source, pathlib.Path(kept, source.stem)), program)
        else:
            compile_program(source, program)
        program.chmod(0o755)
    return program


def compile_program(source, program):
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-s", "-w", "-pthread", "-static", "-o", program, source], check=True)


def kept_program(source, program):
    """Compiled anew where the source has changed, or this file, which says how; beside others that do the same."""
    with contextlib.suppress(FileNotFoundError):
        if program.stat().st_mtime > max(source.stat().st_mtime, pathlib.Path(__file__).stat().st_mtime):
            return program
    own = program.with_name(f"{program.name}.{os.getpid()}")
    compile_program(source, own)
    return own.replace(program)


def load(path):
    fields = {}
    for line in path.read_text(errors="surrogateescape").splitlines()[:24]:
        match = FIELD.match(line)
        if match and match[1] in KNOWN:
            fields[match[1]] = match[2].strip()
    lacking = {"attack", "title", "backends", "layers", "evidence"} - set(fields)
    if lacking or path.stem.split("-")[0] != fields["attack"]:
        raise ValueError(f"{path.name}: its header lacks {sorted(lacking) or 'the number of its name'}")
    return Attack(path, fields)


def natural(path):
    letter, number = path.name[0], re.match(r"\d+", path.name[1:])
    return letter, int(number[0]), path.name


def every_attack():
    return [load(path) for path in sorted((p for p in FOLDER.iterdir() if p.suffix in LANGUAGES), key=natural)]


def attacks(backend):
    """Each attack in one language, and in the long form in every one it is written in: what stops it does not look at that. Process mode
    has those in Python too, whose interpreter may be a copy."""
    found = every_attack()
    found = [attack for attack in found if backend in attack.backends]
    if os.environ.get("CODE_EXECUTE_TEST_LONG") or os.environ.get("ESCAPE_LONG"):
        return found
    first = {}
    for attack in sorted(found, key=lambda attack: PREFERRED.index(attack.path.suffix)):
        first.setdefault(attack.path.stem, attack)
    return [attack for attack in found
            if first[attack.path.stem] is attack or backend == "process" and attack.language == "python"]


if __name__ == "__main__":  # catalogue.py DIRECTORY compiles them all there
    for source in (*HERE.glob("*.c"), *FOLDER.glob("*.c")):
        if source.stem != "knock_out":
            compiled(source, sys.argv[1])
