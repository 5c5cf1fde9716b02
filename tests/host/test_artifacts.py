# SPDX-License-Identifier: Apache-2.0
"""The files that programs leave: kept through store_file, listed and fetched, for as long and as much as is allowed."""

import hashlib
import json
import os
import re
import stat
import subprocess
import time

import tap
from support import TOOLHOST, HostTest

PROVIDER = os.environ["FILE_PROVIDER"]
URI = re.compile("^toolhost://run/[0-9a-f]{32}/")


def order(path="out.txt", content="text", **more):
    """A file that the provider hands over."""
    return {"file": {"path": path, "size": len(content), "mime_type": "text/plain",
                     "sha256": hashlib.sha256(content.encode()).hexdigest(), **more}, "content": content}


class ArtifactsTest(HostTest):
    def setUp(self):
        super().setUp()
        self.store = os.path.join(self.home, ".local", "state", "toolhost", "artifacts")

    def invoked(self, code, *options, files=None, **environment):
        given = {"code": json.dumps(code), **({"files": files} if files else {})}
        done = self.toolhost("invoke", "--audit", "/dev/null", *options, stdin=json.dumps(given).encode(),
                             **{"TOOLHOST_PLUGIN": PROVIDER, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.errors = done.stderr.decode()
        return json.loads(done.stdout)

    def stored(self, *orders, options=(), **environment):
        return self.invoked({"store": list(orders)}, *options, **environment)["stored"]

    def listed(self, *options):
        done = self.toolhost("artifacts", "list", "--json", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def fetched(self, name, *options):
        return self.toolhost("artifacts", "get", name, *options)


class Kept(ArtifactsTest):
    def test_a_file_comes_back(self):
        [uri] = self.stored(order("out/a b.txt", "text\n"))
        self.assertRegex(uri, URI)
        self.assertTrue(uri.endswith("/out/a%20b.txt"), uri)
        done = self.fetched(uri)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"text\n", b""))
        self.assertEqual(self.fetched(uri.split("/")[3]).stdout, b"text\n")

    def test_its_entry(self):
        [uri] = self.stored(order("a.svg", "<svg/>", mime_type="image/svg+xml", active=True))
        [entry] = self.listed()
        self.assertLessEqual(abs(entry.pop("created") - time.time()), 60)
        self.assertEqual(entry.pop("expires") // 1000, (int(time.time()) + 86400) // 1000)
        wanted = {"uri": uri, "path": "a.svg", "mime_type": "image/svg+xml", "size": 6, "active": True, "number": 1,
                  "sha256": hashlib.sha256(b"<svg/>").hexdigest()}
        self.assertEqual(entry, wanted)
        whole = json.loads(self.fetched(uri, "--json").stdout)
        self.assertEqual((whole["content"], whole["encoding"]), ("PHN2Zy8+", "base64"))

    def test_the_list_for_people(self):
        self.assertEqual(self.toolhost("artifacts", "list").stdout, b"no files are kept\n")
        [uri] = self.stored(order("\x1b[2J.txt", "x" * 2500))
        line = self.toolhost("artifacts", "list").stdout.decode()
        self.assertTrue(line.startswith(uri), line)
        self.assertIn("<U+001B>[2J.txt (text/plain, 2.5 kB)\n", line)

    def test_only_its_owner_can_read_it(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        self.stored(order())
        self.assertEqual(stat.S_IMODE(os.stat(self.store).st_mode), 0o700)
        for name in os.listdir(self.store):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.store, name)).st_mode), 0o600, name)

    def test_another_run_can_have_it(self):
        [uri] = self.stored(order("data.csv", "1,2\n"))
        result = self.invoked({}, files=[{"path": "in.csv", "ref": uri}])
        self.assertEqual(result["opened"][uri]["content"], "1,2\n")
        self.assertEqual(result["context"]["files"], [{"ref": uri, "name": "data.csv", "size": 4,
                                                       "sha256": hashlib.sha256(b"1,2\n").hexdigest()}])

    def test_one_that_is_not_there(self):
        [uri] = self.stored(order())
        other = uri.replace("/out.txt", "/other.txt")
        for name in (other, uri[:-1], "0" * 32, "../../etc/passwd", "x", ""):
            done = self.fetched(name)
            self.assertEqual((done.returncode, done.stdout), (1, b""), name)
            self.assertIn(b"toolhost: unknown_file: no file", done.stderr)
        self.assertEqual(self.invoked({}, files=[{"path": "a", "ref": other}])["opened"], {other: None})

    def test_its_address_is_short_enough_for_a_ref(self):
        for path in ("d/" * 100 + "name", "ü" * 34, "ü" * 35, "d/" * 40 + "x" * 80, "x" * 68):
            [uri] = self.stored(order(path))
            self.assertLessEqual(len(uri), 255)
            self.assertEqual(self.invoked({}, files=[{"path": "a", "ref": uri}])["opened"][uri]["content"], "text")
            self.assertEqual(json.loads(self.fetched(uri, "--json").stdout)["path"], path)

    def test_another_place(self):
        place = os.path.join(self.home, "elsewhere")
        [uri] = self.stored(order(), options=("--artifacts", place))
        self.assertEqual([entry["uri"] for entry in self.listed("--artifacts", place)], [uri])
        self.assertEqual(self.listed(), [])


class Refused(ArtifactsTest):
    def refused(self, why, *orders, options=(), **environment):
        self.assertEqual(self.stored(*orders, options=options, **environment), [None] * len(orders))
        self.assertIn(why, self.errors)

    def test_another_content_than_its_hash(self):
        self.refused("its content is not what its SHA-256 says", {**order(content="one"), "content": "two"})
        self.assertEqual(os.listdir(self.store), [])

    def test_a_directory_that_others_can_read(self):
        os.makedirs(self.store)
        os.chmod(self.store, 0o755)
        self.refused("must be yours alone", order())

    def test_a_link_in_the_place_of_the_directory(self):
        elsewhere = os.path.join(self.home, "elsewhere")
        os.mkdir(elsewhere, 0o700)
        os.makedirs(os.path.dirname(self.store))
        os.symlink(elsewhere, self.store)
        self.refused("artifacts: ", order())
        self.assertEqual(os.listdir(elsewhere), [])

    def test_no_directory(self):
        self.refused("set HOME or XDG_STATE_HOME, or give --artifacts", order(), HOME="")

    def test_nothing_is_kept(self):
        self.refused("larger than all that is kept", order(), options=("--artifacts-max-bytes", "0"))


class Bounds(ArtifactsTest):
    def test_the_oldest_goes_first(self):
        bound = ("--artifacts-max-bytes", "64K")
        first, second = self.stored(order("1", "a" * 30000), order("2", "b" * 30000), options=bound)
        self.age(first, -10)
        [third] = self.stored(order("3", "c" * 30000), options=bound)
        self.assertEqual({entry["uri"] for entry in self.listed()}, {second, third})
        self.assertEqual(self.fetched(first).returncode, 1)

    def test_a_clock_that_was_set_back_changes_no_order(self):
        [first] = self.stored(order("1"))
        self.age(first, 3600)
        [second] = self.stored(order("2"))
        self.assertEqual([entry["uri"] for entry in self.listed()], [first, second])

    def age(self, uri, seconds):
        """Moves a file in time."""
        path = os.path.join(self.store, uri.split("/")[3] + ".json")
        with open(path, encoding="utf-8") as file:
            entry = json.load(file)
        entry["created"] += seconds
        entry["expires"] += seconds
        with open(path, "w", encoding="utf-8") as file:
            json.dump(entry, file)

    def test_small_files_count_too(self):
        uris = self.stored(*(order(str(i), "") for i in range(20)), options=("--artifacts-max-bytes", "16K"))
        self.assertNotIn(None, uris)
        self.assertEqual([entry["uri"] for entry in self.listed()], uris[-4:])  # all of one second

    def test_what_is_over_is_gone(self):
        [uri] = self.stored(order(), options=("--artifacts-age", "1h"))
        self.age(uri, -3500)
        self.assertEqual(len(self.listed()), 1)
        self.age(uri, -200)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.fetched(uri).returncode, 1)
        self.assertEqual(self.invoked({}, files=[{"path": "a", "ref": uri}])["opened"], {uri: None})
        [other] = self.stored(order())
        self.assertEqual({name.split(".")[0] for name in os.listdir(self.store)}, {other.split("/")[3]})

    def test_what_a_dead_writer_left_goes(self):
        self.stored(order())
        for name in ("0" * 32, "1" * 32 + ".json"):
            with open(os.path.join(self.store, name), "w", encoding="utf-8"):
                pass
        self.path(os.path.join(self.store, "kept"), "not ours")
        self.stored(order())
        self.assertEqual(len(os.listdir(self.store)), 5)
        self.assertIn("kept", os.listdir(self.store))

    def test_many_writers_keep_the_bound(self):
        code = json.dumps({"code": json.dumps({"store": [order(str(i), "x" * 5000) for i in range(8)]})}).encode()
        writers = [subprocess.Popen([TOOLHOST, "invoke", "--audit", "/dev/null", "--artifacts-max-bytes", "64K"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment(TOOLHOST_PLUGIN=PROVIDER))
                   for _ in range(8)]
        for writer in writers:
            writer.stdin.write(code)
            writer.stdin.close()
        for writer in writers:
            with writer.stdout:
                self.assertNotIn(None, json.load(writer.stdout)["stored"])
            self.assertEqual(writer.wait(60), 0)
        entries = self.listed()
        self.assertEqual((len(entries), len(os.listdir(self.store))), (13, 26))
        for entry in entries:
            self.assertEqual(self.fetched(entry["uri"]).stdout, b"x" * 5000)


if __name__ == "__main__":
    tap.run_unittest()
