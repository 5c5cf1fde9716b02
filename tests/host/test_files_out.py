# SPDX-License-Identifier: Apache-2.0
"""toolhost run: values, displays and files of a program, where they go and what is said about them."""

import base64
import hashlib
import json
import os
import pathlib
import pty
import stat
import subprocess

import tap
from support import TOOLHOST, HostTest

PROVIDER = os.environ["FILE_PROVIDER"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]
PNG = base64.b64encode(b"PNG").decode()


def left(path, content="text", **more):
    return {"path": path, "mime_type": "text/plain", "size": len(content), "content": content, **more}


def value(text, **more):
    return {"type": "text", "role": "value", "mime_type": "text/plain", "text": text, **more}


class OutTest(HostTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.home, "results")

    def ran(self, result, *options, store=(), status=0, **environment):
        code = json.dumps({"store": store, "result": {"stdout": "out\n", **result}})
        done = self.toolhost("run", "-l", "json", "-c", code, "--audit", "/dev/null", *options, **{"TOOLHOST_PLUGIN": PROVIDER, **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        self.lines = done.stderr.decode().splitlines()
        return done.stdout.decode()

    def written(self, *files, options=(), **more):
        """What is beneath --out afterwards."""
        self.ran({"files": list(files)}, "--out", self.out, *options, **more)
        top = pathlib.Path(self.out)
        return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


class Shown(OutTest):
    def test_a_value_stands_behind_the_output(self):
        self.assertEqual(self.ran({"results": [value("   a  b\n0  1  2")]}), "out\n   a  b\n0  1  2\n")
        self.assertEqual(self.ran({"stdout": "no line break", "results": [value("42\n")]}), "no line break\n42\n")
        self.assertEqual(self.ran({"stdout": "", "results": [value("'1'")]}), "'1'\n")
        self.assertEqual(self.lines, [])

    def test_each_kind_as_a_terminal_can_show_it(self):
        shown = [{"type": "text", "role": "display", "mime_type": "text/markdown", "text": "# one"},
                 {"type": "resource", "role": "display", "mime_type": "text/html", "text": "<b>two</b>", "alternatives": {"text/plain": "two"}},
                 {"type": "resource", "role": "value", "mime_type": "application/json", "text": "[3]"}]
        self.assertEqual(self.ran({"results": shown}), "out\n# one\ntwo\n[3]\n")

    def test_pictures_are_kept(self):
        self.ran({"results": [{"type": "image", "role": "display", "mime_type": "image/png", "data": PNG,
                               "alternatives": {"text/plain": "<Figure>"}}]})
        self.assertRegex(self.lines[0], r"^toolhost: file display-1.png \(image/png, 3 B\): toolhost://run/[0-9a-f]{32}/display-1.png$")
        self.assertEqual(self.toolhost("artifacts", "get", self.lines[0].split()[-1]).stdout, b"PNG")

    def test_pictures_are_written(self):
        self.ran({"results": [{"type": "image", "mime_type": "image/png", "data": PNG},
                              {"type": "resource", "mime_type": "text/html", "text": "<p>"},
                              {"type": "resource", "mime_type": "application/vnd.vegalite.v5+json", "text": "{}"}]}, "--out", self.out)
        self.assertEqual(sorted(os.listdir(self.out)), ["display-1.png", "display-2.html", "display-3.json"])
        self.assertEqual(pathlib.Path(self.out, "display-1.png").read_bytes(), b"PNG")
        self.assertIn("can run scripts", self.lines[1])

    def test_quiet(self):
        self.assertEqual(self.ran({"results": [value("42")], "files": [left("a")]}, "--quiet", "--out", self.out), "out\n")
        self.assertEqual((self.lines, os.listdir(self.out)), ([], ["a"]))

    def test_json(self):
        text = self.ran({"results": [value("42")], "files": [left("a"), left("../b")]}, "--json", "--out", self.out, status=1)
        result = json.loads(text)
        self.assertEqual((result["stdout"], result["results"]), ("out\n", [value("42")]))
        self.assertEqual(result["files"], [{**left("a"), "written": self.out + "/a"},
                                           {**left("../b"), "not_written": "its name leads out of the directory"}])

    def test_json_where_no_provider_is(self):
        done = self.toolhost("run", "-l", "json", "-c", "{}", "--json", TOOLHOST_PLUGIN=self.path("none.so"))
        self.assertEqual((done.returncode, json.loads(done.stdout)["status"]), (125, "error"))

    def test_what_was_left_out(self):
        self.ran({"files": [{"path": "big", "mime_type": "application/zip", "size": 20000000, "omitted": "too_large"}],
                  "files_omitted": {"count": 3, "bytes": 5, "reason": "too_many"},
                  "results_omitted": {"count": 1, "bytes": 1500, "reason": "max_results"}}, "--out", self.out)
        self.assertEqual(self.lines, ["toolhost: file big (application/zip, 20.0 MB): left out, too_large",
                                      "toolhost: 1 more results, 1.5 kB: left out, max_results",
                                      "toolhost: 3 more files, 5 B: left out, too_many"])

    def test_what_may_be_missing(self):
        self.ran({"files_omitted": {"count": 0, "bytes": 0, "reason": "killed"}})
        self.assertEqual(self.lines, ["toolhost: files may be missing: killed"])


class Pictures(OutTest):
    """--show, at a terminal of the test's."""

    def at_terminal(self, *files, options=("--show",), **environment):
        """What the terminal gets."""
        master, slave = pty.openpty()
        code = json.dumps({"result": {"stdout": "", "files": list(files)}})
        process = subprocess.Popen([TOOLHOST, "run", "-l", "json", "-c", code, "--audit", "/dev/null", "--out", self.out, "--force", *options],
                                   stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                                   env=self.environment(TOOLHOST_PLUGIN=PROVIDER, **environment))
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 65536):
                shown += chunk
        except OSError:  # the end of a terminal
            pass
        os.close(master)
        self.lines = process.communicate(timeout=60)[1].decode().splitlines()
        self.assertEqual(process.returncode, 0)
        return shown.replace(b"\r\n", b"\n")

    def picture(self, content=PNG, mime_type="image/png"):
        return {"path": "p", "mime_type": mime_type, "encoding": "base64", "content": content}

    def test_kitty(self):
        self.assertEqual(self.at_terminal(self.picture(), TERM="xterm-kitty"), b"\033_Ga=T,f=100,q=2,m=0;UE5H\033\\\n")
        large = base64.b64encode(bytes(7000)).decode()
        shown = self.at_terminal(self.picture(large), TERM="xterm-kitty")
        self.assertEqual(shown, f"\033_Ga=T,f=100,q=2,m=1;{large[:4096]}\033\\\033_Gm=1;{large[4096:8192]}\033\\"
                                f"\033_Gm=0;{large[8192:]}\033\\\n".encode())
        self.assertEqual(self.at_terminal(self.picture(mime_type="image/jpeg"), TERM="xterm-kitty"), b"")

    def test_iterm(self):
        for mime_type in ("image/png", "image/jpeg"):
            self.assertEqual(self.at_terminal(self.picture(mime_type=mime_type), TERM_PROGRAM="iTerm.app"),
                             b"\033]1337;File=inline=1;size=3:UE5H\a\n")

    def test_only_pictures_and_only_where_it_was_asked_for(self):
        svg = {"path": "a.svg", "mime_type": "image/svg+xml", "content": "<svg/>"}
        self.assertEqual(self.at_terminal(svg, TERM="xterm-kitty"), b"")
        self.assertEqual(self.at_terminal(self.picture(), options=(), TERM="xterm-kitty"), b"")
        self.assertEqual(self.at_terminal(self.picture(), options=("--show", "--quiet"), TERM="xterm-kitty"), b"")

    def test_elsewhere_it_is_said(self):
        self.assertEqual(self.at_terminal(self.picture(), TERM="xterm"), b"")
        self.assertEqual(self.lines[0], "toolhost: --show: standard output is no terminal that shows pictures")
        self.ran({"files": [self.picture()]}, "--show", TERM="xterm-kitty")
        self.assertEqual(self.lines[0], "toolhost: --show: standard output is no terminal that shows pictures")


class Kept(OutTest):
    def test_without_out_files_are_kept(self):
        self.ran({"files": [left("a.txt", "hi")]})
        self.assertRegex(self.lines[0], r"^toolhost: file a.txt \(text/plain, 2 B\): toolhost://run/")
        self.assertEqual(self.toolhost("artifacts", "get", self.lines[0].split()[-1]).stdout, b"hi")

    def test_or_it_is_said_that_they_are_not(self):
        self.ran({"files": [left("a.txt", "hi")]}, "--artifacts-max-bytes", "0")
        self.assertIn("not kept: a.txt (text/plain, 2 B): larger than all that is kept", self.lines[0])


class Written(OutTest):
    def test_each_form_of_content(self):
        stored = {"file": {"path": "c", "mime_type": "text/plain", "sha256": hashlib.sha256(b"stored").hexdigest()}, "content": "stored"}
        files = self.written(left("a.txt", "text"), left("in/deep/b.bin", "AP8=", encoding="base64"),
                             {"path": "c", "mime_type": "text/plain", "size": 6, "uri": 0}, store=[stored])
        self.assertEqual(files, {"a.txt": b"text", "in/deep/b.bin": b"\0\xff", "c": b"stored"})
        self.assertEqual(self.lines[0], f"toolhost: wrote a.txt (text/plain, 4 B): {self.out}/a.txt")

    def test_nothing_to_execute_and_the_umask_counts(self):
        for mask, file_mode, directory_mode in ((0o022, 0o644, 0o755), (0o077, 0o600, 0o700)):
            self.out = os.path.join(self.home, f"out{mask}")
            os.umask(mask)
            self.addCleanup(os.umask, 0o022)
            self.written(left("d/run.sh", "#!/bin/sh\n"))
            modes = [stat.S_IMODE(os.stat(os.path.join(self.out, name)).st_mode) for name in ("", "d", "d/run.sh")]
            self.assertEqual(modes, [directory_mode, directory_mode, file_mode])

    def test_names_that_lead_elsewhere(self):
        names = ["../a", "/tmp/toolhost-test-absolute", "d/../../a", "..", ".", "d/", "d//e", "d/./e"]
        self.assertEqual(self.written(*(left(name) for name in names), left("good"), status=1), {"good": b"text"})
        self.assertEqual(sum("its name leads out of the directory" in line for line in self.lines), len(names))
        self.assertFalse(os.path.exists("/tmp/toolhost-test-absolute"))
        self.assertFalse(os.path.exists(os.path.join(self.home, "a")))

    def test_links_are_not_followed(self):
        elsewhere = os.path.join(self.home, "elsewhere")
        os.mkdir(elsewhere)
        os.mkdir(self.out)
        self.path("target", "mine")
        os.symlink(elsewhere, os.path.join(self.out, "d"))
        os.symlink("../target", os.path.join(self.out, "f"))
        self.written(left("d/x"), left("f", "theirs"), status=1)
        self.written(left("d/x"), left("f", "theirs"), options=["--force"], status=1)
        self.assertEqual(os.listdir(elsewhere), [])
        self.assertEqual(pathlib.Path(self.home, "target").read_text(encoding="utf-8"), "mine")
        self.assertFalse(os.path.islink(os.path.join(self.out, "f")))

    def test_nothing_is_overwritten_without_force(self):
        os.mkdir(self.out)
        existing = pathlib.Path(self.out, "a")
        existing.write_text("mine", encoding="utf-8")
        self.assertEqual(self.written(left("a", "theirs"), left("b"), status=1), {"a": b"mine", "b": b"text"})
        self.assertEqual(self.lines[0], "toolhost: not written: a (text/plain, 6 B): it exists, and --force was not given")
        self.assertEqual(self.written(left("a", "theirs"), options=["--force"]), {"a": b"theirs", "b": b"text"})

    def test_names_are_escaped(self):
        files = self.written(left("a\x1b[2J\nb"), left("\u202egnp.exe"))
        self.assertEqual(set(files), {"a<U+001B>[2J<U+000A>b", "<U+202E>gnp.exe"})
        self.assertEqual(len(self.lines), 2)

    def test_a_directory_that_cannot_be(self):
        path = self.path("file", "x")
        for out in (path, os.path.join(self.home, "none", "deep")):
            done = self.toolhost("run", "-l", "json", "-c", "{}", "--audit", "/dev/null", "--out", out, TOOLHOST_PLUGIN=PROVIDER)
            self.assertEqual(done.returncode, 125)
            self.assertIn(b"toolhost: file_not_written: ", done.stderr)
        self.assertIn("--force is for --out", self.toolhost("run", "-l", "json", "-c", "{}", "--force").stderr.decode())

    def test_the_status_of_a_program_that_failed_stays(self):
        self.ran({"exit_code": 3, "files": [left("../a")]}, "--out", self.out, status=3)

    def test_a_full_disk_leaves_nothing(self):
        """A limit on the size of files stands for the disk."""
        self.ran({"files": [left("a", "x" * 5000)]})
        code = json.dumps({"result": {"files": [{"path": "a", "size": 5000, "uri": self.lines[0].split()[-1]}, left("b")]}})
        done = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 2; exec "$@"', "sh", TOOLHOST, "run", "-l", "json", "-c", code,
                               "--audit", "/dev/null", "--out", self.out], capture_output=True, timeout=60,
                              env=self.environment(TOOLHOST_PLUGIN=PROVIDER))
        self.assertEqual((done.returncode, os.listdir(self.out)), (1, ["b"]), done.stderr)
        self.assertIn(b"it cannot be written: File too large", done.stderr)


class Real(OutTest):
    """The provider of this project: a file in, files out."""

    def test_a_file_comes_in_and_others_go_out(self):
        self.needs_its_mode()
        code = "wc -c < data > size; mkdir d; head -c 3000000 data > d/large; ln -s /etc/passwd link; echo out"
        done = self.toolhost("run", "-l", "sh", "-c", code, "--file", self.path("given", b"x" * 4000000) + "=data", "--out", self.out,
                             "--approve", "always", "--audit", "/dev/null", TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual((done.returncode, done.stdout), (0, b"out\n"), done.stderr)
        top = pathlib.Path(self.out)
        self.assertEqual({str(path.relative_to(top)): path.stat().st_size for path in top.rglob("*") if path.is_file()},
                         {"size": 8, "d/large": 3000000})
        self.assertEqual((top / "size").read_text(encoding="ascii"), "4000000\n")
        self.assertIn(b"toolhost: wrote d/large (", done.stderr)
        self.assertIn(b"toolhost: file link (application/octet-stream, 0 B): left out, not_regular", done.stderr)


if __name__ == "__main__":
    tap.run_unittest()
