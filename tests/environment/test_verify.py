# SPDX-License-Identifier: Apache-2.0
"""An installed environment in which one thing was changed by somebody who may write there: verifying says where. Undoing the change is
the positive control of each case."""
import contextlib
import os
import shutil
import stat

import installer
import tap
from installer import directory, file, link, place

installer.need_program()


@contextlib.contextmanager
def environment():
    with place() as made:
        made.install(directory("a"), file("a/f", b"one\n"), file("a/run", b"two\n", mode=0o755), directory("a/sub"), file("a/sub/deep"),
                     link("a/l", "f"), directory("b"), file("b/f", b"three\n"), file("a-b"))
        yield made


@contextlib.contextmanager
def writable(path):
    """Nobody sees from modes that something was written; times of writing stay as well."""
    status = os.lstat(path)
    os.chmod(path, 0o700)
    try:
        yield
    finally:
        if os.path.lexists(path) and not os.path.islink(path):
            os.chmod(path, stat.S_IMODE(status.st_mode))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def move(path, aim):
    """A directory, too, which takes the right to write to it."""
    status = os.lstat(path)
    os.chmod(path, 0o700)
    path.rename(aim)
    os.chmod(aim, stat.S_IMODE(status.st_mode))
    os.utime(aim, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace(path, data):
    with writable(path):
        path.write_bytes(data)


def test_one_that_is_unchanged():
    with environment() as made:
        before = made.verify()
        tap.equal(before["stamp"], before["recorded_stamp"], "the stamp of the installation")
        for path in made.content.rglob("*"):
            if path.is_file():
                path.read_bytes()
        tap.equal(made.verify(), before, "reading changes nothing")


def test_content():
    """With the same size and time of writing."""
    with environment() as made:
        path = made.content / "a" / "f"
        before, stamp = path.stat(), made.verify()["stamp"]
        replace(path, b"ONE\n")
        after = path.stat()
        tap.equal((after.st_size, after.st_mtime_ns, after.st_mode, after.st_ino), (before.st_size, before.st_mtime_ns, before.st_mode, before.st_ino))
        made.changed("a/f", "not as it was installed")
        replace(path, b"one\n")
        undone = made.verify()
        tap.true(undone["stamp"] != stamp, "the stamp shows that there was something")
        tap.equal(undone["recorded_stamp"], stamp)
        replace(path, b"one\nmore\n")
        made.changed("a/f", "not as it was installed")


def test_a_file_that_was_added():
    with environment() as made:
        for name, path in (("a/aa", made.content / "a" / "aa"), ("a/zz", made.content / "a" / "zz"), ("zz", made.content / "zz"), ("0", made.content / "0"),
                           ("a/sub/~", made.content / "a" / "sub" / "~")):
            with writable(path.parent):
                path.write_bytes(b"x")
            path.chmod(0o444)
            made.changed(name, "was added")
            with writable(path.parent):
                path.unlink()
            made.verify()


def test_a_directory_that_was_added():
    with environment() as made:
        with writable(made.content):
            (made.content / "new").mkdir(mode=0o555)
        os.chmod(made.content / "new", 0o555)
        made.changed("new", "was added")
        with writable(made.content):
            (made.content / "new").rmdir()
        made.verify()


def test_a_file_that_was_removed():
    for name in ("a/f", "a/sub/deep", "b/f", "a-b"):
        with environment() as made:
            path = made.content / name
            with writable(path.parent):
                move(path, made.top / "kept")
            made.changed(name, "was removed")
            with writable(path.parent):
                move(made.top / "kept", path)
            made.verify()


def test_modes():
    with environment() as made:
        for name, modes in (("a/f", (0o644, 0o4444, 0o2444, 0o400, 0o446)), ("a/run", (0o755, 0o4555)), ("a", (0o755, 0o1555, 0o777)), ("", (0o755, 0o557))):
            path = made.content / name
            before = stat.S_IMODE(path.stat().st_mode)
            for mode in modes:
                path.chmod(mode)
                made.changed(name, "another mode than")
            path.chmod(before)
            made.verify()
        for name, mode in (("a/f", 0o555), ("a/run", 0o444)):
            path = made.content / name
            before = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode)
            made.changed(name, "not as it was installed")
            path.chmod(before)
            made.verify()


def test_a_link_to_something_else():
    with environment() as made:
        path = made.content / "a" / "l"
        for target, reason in (("run", "not as it was installed"), ("../../../outside", "leads out"), ("/etc/passwd", "leads out")):
            with writable(path.parent):
                path.unlink()
                path.symlink_to(target)
            made.changed("a/l", reason)
        with writable(path.parent):
            path.unlink()
            path.symlink_to("f")
        made.verify()


def test_a_directory_that_became_a_link():
    """With the same files behind it, inside or outside."""
    with environment() as made:
        shutil.copytree(made.content / "a", made.outside / "a", symlinks=True)
        path = made.content / "a"
        with writable(made.content):
            move(path, made.top / "kept")
            path.symlink_to("../../../outside/a")
        made.changed("a", "leads out")
        with writable(made.content):
            path.unlink()
            path.symlink_to("b")
        made.changed("a", "not as it was installed")
        with writable(made.content):
            path.unlink()
            move(made.top / "kept", path)
        made.verify()


def test_the_whole_that_became_a_link():
    with environment() as made:
        move(made.content, made.outside / "content")
        made.content.symlink_to("../../outside/content")
        made.changed("content", "cannot be opened")
        made.content.unlink()
        made.changed("content", "cannot be opened")
        move(made.outside / "content", made.content)
        made.verify()


def test_other_kinds_of_files():
    with environment() as made:
        path = made.content / "pipe"
        with writable(made.content):
            os.mkfifo(path)
        made.changed("pipe", "neither file, directory nor symbolic link")
        with writable(made.content):
            path.unlink()
        made.verify()


def test_names_that_no_archive_may_have():
    with environment() as made:
        for name, shown in ((b"new\nline", "new\nline"), (b"\xff", "\ufffd")):
            path = os.fsencode(made.content) + b"/" + name
            with writable(made.content):
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o444))
            made.changed(shown, "control characters, or is not UTF-8")
            with writable(made.content):
                os.unlink(path)
            made.verify()


def test_an_edited_inventory():
    with environment() as made:
        path = made.path / "inventory"
        right = path.read_bytes()
        lines = right.splitlines(keepends=True)
        digit = next(line for line in lines if line.endswith(b" a/f\n"))
        edits = {
            b"": "a", right[:-1]: None, right + b"f 0 x y\n": "y", right + right: None, b"junk": "inventory", b"\0" + right: "inventory", right.upper(): None,
            right.replace(digit, digit.replace(b"f 4 ", b"f 5 ")): "a/f", right.replace(b"l 1 f a/l", b"l 9999 f a/l"): "inventory",
            b"".join(reversed(lines)): None, right.replace(digit, b""): "a/f",
        }
        for text, where in edits.items():
            replace(path, text)
            status, answer = made.run("verify")
            tap.equal(status, 1, answer)
            if where is not None:
                tap.equal(answer["changed"], where, text)
            replace(path, right)
            made.verify()


def test_content_and_inventory_that_fit_each_other():
    """The digest is another one then, and that is the name of the directory."""
    with environment() as made, place() as other:
        before = made.verify()["sha256"]
        answer = other.install(directory("a"), file("a/f", b"ONE\n"), file("a/run", b"two\n", mode=0o755), directory("a/sub"), file("a/sub/deep"),
                               link("a/l", "f"), directory("b"), file("b/f", b"three\n"), file("a-b"))
        replace(made.content / "a" / "f", b"ONE\n")
        replace(made.path / "inventory", (other.path / "inventory").read_bytes())
        tap.equal(made.verify()["sha256"], answer["sha256"])
        tap.true(answer["sha256"] != before, "another digest")


def test_records_that_are_missing_or_none():
    with environment() as made:
        for name in ("inventory", "stamp"):
            path = made.path / name
            right = path.read_bytes()
            path.unlink()
            made.changed(name, "cannot be read")
            path.symlink_to("../../outside/canary")
            made.changed(name, "cannot be read")
            path.unlink()
            os.mkfifo(path)
            made.changed(name, "cannot be read")
            path.unlink()
            path.write_bytes(right)
            made.verify()
        for text in (b"", b"x", b"0" * 64, b"g" * 64 + b"\n", b"0" * 65 + b"\n"):
            replace(made.path / "stamp", text)
            made.changed("stamp", "cannot be read, or is none")
        replace(made.path / "stamp", b"0" * 64 + b"\n")
        tap.equal(made.verify()["recorded_stamp"], "0" * 64)


def test_limits_hold_for_what_is_installed_too():
    with environment() as made:
        made.verify(bytes=30, inodes=9)
        for more in ({"inodes": 8}, {"bytes": 10}):
            status, answer = made.run("verify", **more)
            tap.equal(status, 1, answer)
            tap.contains(answer["error"], "than allowed")


tap.run(globals())
