# SPDX-License-Identifier: Apache-2.0
"""toolhost run --file and --files-below: what a provider is given, what it may open, and what it may not."""

import hashlib
import json
import os

import tap
from support import HostTest

PROVIDER = os.environ["FILE_PROVIDER"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]
LARGE = bytes(range(256)) * 400  # more than goes into an input


def described(ref, name, content):
    return {"ref": ref, "name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def opened(content):
    return {"size": len(content), "mode": os.O_RDONLY, "close_on_exec": True, "content": content.decode("latin-1")}


class FilesTest(HostTest):
    def failed(self, *options, **environment):
        done = self.toolhost("run", "-l", "json", "-c", "{}", "--audit", "/dev/null", *options, TOOLHOST_PLUGIN=PROVIDER, **environment)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.decode()

    def called(self, *options, code=None, files=None, **environment):
        """The result of a call: what was given and opened."""
        given = {"code": json.dumps(code or {}), **({"files": files} if files else {})}
        done = self.toolhost("invoke", "--audit", "/dev/null", *options, stdin=json.dumps(given).encode(), TOOLHOST_PLUGIN=PROVIDER,
                             **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def ran(self, *options, code=None, plugin=PROVIDER, **environment):
        """The same by toolhost run: a result without standard output is printed there."""
        done = self.toolhost("run", "-l", "json", "-c", json.dumps(code or {}), "--audit", "/dev/null", *options, TOOLHOST_PLUGIN=plugin,
                             FILE_PROVIDER_REPORT="1", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class Given(FilesTest):
    def test_a_small_file_goes_with_its_content(self):
        path = self.path("data.csv", "a,b\n1,ü\n")
        self.assertEqual(self.ran("--file", path)["given"], [{"path": "data.csv", "content": "a,b\n1,ü\n"}])
        self.assertNotIn("files", self.ran("--file", path)["context"])

    def test_what_is_no_text_goes_in_base64(self):
        for name, content, encoded in (("zero", b"a\0b", "YQBi"), ("latin", b"\xfc", "/A==")):
            self.assertEqual(self.ran("--file", self.path(name, content))["given"],
                             [{"path": name, "content": encoded, "encoding": "base64"}])

    def test_a_name_of_its_own(self):
        path = self.path("a=b", "x")
        self.assertEqual(self.ran("--file", f"{path}=in/c.txt")["given"], [{"path": "in/c.txt", "content": "x"}])

    def test_a_large_file_is_lent(self):
        path = self.path("large.bin", LARGE)
        result = self.ran("--file", path, "--file", self.path("small", "x"))
        ref = result["given"][0]["ref"]
        self.assertEqual(result["given"], [{"path": "large.bin", "ref": ref}, {"path": "small", "content": "x"}])
        self.assertEqual(result["context"]["files"], [described(ref, "large.bin", LARGE)])
        self.assertEqual(result["opened"], {ref: opened(LARGE)})

    def test_its_name_cannot_be_guessed(self):
        path = self.path("large.bin", LARGE)
        refs = {self.ran("--file", path)["given"][0]["ref"] for _ in range(3)}
        self.assertEqual(len(refs), 3)
        for ref in refs:
            self.assertRegex(ref, "^toolhost:file:[0-9a-f]{32}$")

    def test_a_provider_without_ref_gets_the_content(self):
        path = self.path("large.bin", LARGE)
        self.assertEqual(set(self.ran("--file", path, FILE_PROVIDER_OLD="1")["given"][0]), {"path", "content", "encoding"})
        self.assertIn("the tool takes no file of more than 8 MiB",
                      self.failed("--file", self.path("larger", b"x" * (8 << 20 | 1)), FILE_PROVIDER_OLD="1"))

    def test_beside_what_set_names(self):
        path = self.path("b", "2")
        self.assertEqual(self.ran("--file", path, "--set", 'files={"path": "a", "content": "1"}')["given"],
                         [{"path": "a", "content": "1"}, {"path": "b", "content": "2"}])

    def test_what_cannot_be_given(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        for path, why in ((fifo, "not a regular file"), (self.home, "not a regular file"), (self.path("none"), "No such file")):
            self.assertIn(why, self.failed("--file", f"{path}=x"))
        for value in ("", "=x", "x=", "dir/"):
            self.assertIn("--file must be PATH or PATH=NAME", self.failed("--file", value))

    def test_a_run_sees_it(self):
        """The real provider: a file that goes into the input, and one that is lent."""
        self.needs_its_mode()
        for content in (b"1,2\n", LARGE):
            done = self.toolhost("run", "-l", "sh", "-c", "cat in/data.csv", "--file", self.path("d.csv", content) + "=in/data.csv",
                                 "--approve", "always", "--audit", "/dev/null", TOOLHOST_PLUGIN=CODE_EXECUTE)
            self.assertEqual((done.returncode, done.stdout), (0, content), done.stderr)


class Below(FilesTest):
    def setUp(self):
        super().setUp()
        self.directory = os.path.join(self.home, "data")
        os.makedirs(os.path.join(self.directory, "in"))
        with open(os.path.join(self.directory, "in", "a.csv"), "wb") as file:
            file.write(b"1,2\n")
        self.path("secret", "beside")

    def below(self, *refs, **more):
        return self.called("--files-below", self.directory, files=[{"path": str(i), "ref": ref} for i, ref in enumerate(refs)], **more)

    def test_a_file_by_its_path(self):
        result = self.below("in/a.csv")
        self.assertEqual(result["context"]["files"], [described("in/a.csv", "in/a.csv", b"1,2\n")])
        self.assertEqual(result["opened"], {"in/a.csv": opened(b"1,2\n")})

    def test_only_what_the_input_names(self):
        result = self.called("--files-below", self.directory, code={"open": ["in/a.csv"]})
        self.assertEqual(result["opened"], {"in/a.csv": None})
        self.assertNotIn("files", result["context"])

    def test_only_with_the_option(self):
        result = self.called(files=[{"path": "a", "ref": "in/a.csv"}])
        self.assertEqual(result["opened"], {"in/a.csv": None})

    def test_no_way_out(self):
        os.symlink("a.csv", os.path.join(self.directory, "in", "link"))
        os.symlink("..", os.path.join(self.directory, "up"))
        os.mkfifo(os.path.join(self.directory, "fifo"))
        refs = ["../secret", os.path.join(self.home, "secret"), "in/../../secret", "in/link", "up/secret", "fifo", "in", "none", ""]
        result = self.below(*refs, "in/a.csv")
        self.assertEqual(result["opened"], {**dict.fromkeys(refs), "in/a.csv": opened(b"1,2\n")})
        self.assertEqual([file["ref"] for file in result["context"]["files"]], ["in/a.csv"])

    def test_what_is_lent_is_what_was_listed(self):
        """Its name goes away while the call is under way."""
        path = self.path("large.bin", LARGE)
        result = self.ran("--file", path, code={"unlink": path})
        self.assertEqual(result["opened"], {result["given"][0]["ref"]: opened(LARGE)})
        self.assertFalse(os.path.exists(path))

    def test_a_name_is_of_one_call(self):
        path = self.path("large.bin", LARGE)
        ref = self.ran("--file", path)["given"][0]["ref"]
        self.assertIsNone(self.ran("--file", path, code={"open": [ref]})["opened"][ref])

    def test_many(self):
        for i in range(200):
            self.path(os.path.join("data", str(i)), "x")
        opened_files = self.below(*(str(i) for i in range(200)))["opened"]
        self.assertEqual(sum(value is not None for value in opened_files.values()), 128)


if __name__ == "__main__":
    tap.run_unittest()
