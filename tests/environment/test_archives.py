# SPDX-License-Identifier: Apache-2.0
"""Which archives are installed and what of them. Each one that is refused has one beside it that differs in that alone, and is
installed. Nothing may be touched outside of the directory in either case."""
import os
import stat
import subprocess
import sys
import tarfile
import tempfile

import installer
import tap
from installer import END, archive, directory, entry, file, hard_link, header, installed, link, padded, pax, place, refused

installer.need_program()

USTAR, GNU, PAX = tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT
A = "f 8 434728a410a78f56fc1b5899c3593436e61ab0c731e9072d95e96db290205e53"  # of file()'s content


def modes(made):
    return {str(path.relative_to(made.content)): stat.S_IMODE(os.lstat(path).st_mode) for path in made.content.rglob("*")}


def test_what_is_in_it_is_installed_with_settled_modes_and_times():
    for form in (USTAR, GNU, PAX):
        with place() as made:
            tar = archive(directory("p", mode=0o1777), file("p/a.py", mode=0o600), file("p/run", mode=0o4751), file("p/all", mode=0o7777),
                          link("p/l", "a.py"), file("implied/b", mode=0o022), format=form)
            answer = made.install(tar)
            tap.equal((answer["bytes"], answer["files"]), (32, 4))
            tap.equal(modes(made), {"p": 0o555, "p/a.py": 0o444, "p/run": 0o555, "p/all": 0o555, "p/l": 0o777, "implied": 0o555, "implied/b": 0o444})
            tap.equal(made.inventory(), ["d implied", f"{A} implied/b", "d p", f"{A} p/a.py", f"x{A[1:]} p/all", "l 4 a.py p/l", f"x{A[1:]} p/run"])
            tap.equal(sorted(name.name for name in made.path.iterdir()), ["content", "inventory", "stamp"])
            tap.equal([stat.S_IMODE((made.path / name).stat().st_mode) for name in ("content", "inventory", "stamp")], [0o555, 0o444, 0o444])
            for name, status in ((path, os.lstat(path)) for path in made.content.rglob("*")):
                tap.equal(status.st_mtime_ns, 0 if stat.S_ISDIR(status.st_mode) else installer.TIME * 10**9, f"time of {name}")
                tap.equal(status.st_uid, os.geteuid(), f"owner of {name}")
            tap.equal((made.path / "stamp").read_text(), answer["stamp"] + "\n")


def test_an_empty_archive():
    tap.equal(installed(archive()), [])
    tap.equal(installed(directory("./")), [])


def test_paths_of_two_spellings():
    tap.equal(installed(directory("./"), directory("./a/"), file("./a/b")), ["d a", f"{A} a/b"])
    for path in ("a//b", "a/./b", "././b", "a/../b", "..", "../b", "a/..", "./../b", "a/b/../../../c"):
        refused(file(path), path=path.removeprefix("./"), reason="has an empty part, or one that is . or ..")
    tap.equal(installed(file("a..b/...")), ["d a..b", f"{A} a..b/..."])
    refused(file("."), path="", reason="empty")


def test_absolute_paths():
    with place() as made:
        aim = str(made.outside / "new")
        made.refuse(file(aim), path=aim, reason="absolute")
    refused(pax([(b"path", b"/tmp/x")]) + header(b"a") + END, path="/tmp/x", reason="absolute")
    tap.equal(installed(pax([(b"path", b"tmp/x")]) + header(b"a", 8) + padded(b"content\n") + END), ["d tmp", f"{A} tmp/x"])
    refused(header(b"b", prefix=b"/a") + END, path="/a/b", reason="absolute")
    refused(header(b"b", prefix=b"..") + END, path="../b", reason="..")
    tap.equal(installed(header(b"b", 8, prefix=b"a") + padded(b"content\n") + END), ["d a", f"{A} a/b"])


def test_links_that_lead_out():
    with place() as made:
        made.refuse(link("out", str(made.outside)), file("out/new"), path="out", reason="leads out")
    for name, target in (("out", ".."), ("out", "../outside"), ("a/b/out", "../../.."), ("a/out", "./../x/../../y"), ("out", "a/../.."), ("out", "/")):
        refused(link(name, target), path=name, reason="leads out")
    tap.equal(installed(file("x"), link("a/b/in", "../../x"), link("a/in", ".././x"), link("top", "."), link("a/top", "..")),
              ["d a", "d a/b", "l 7 ../../x a/b/in", "l 6 .././x a/in", "l 2 .. a/top", "l 1 . top", f"{A} x"])
    refused(link("a", ""), path="a", reason="")


def test_a_chain_of_links_that_leads_out_together():
    """Of each link alone the text stays inside."""
    refused(directory("a/b"), link("a/b/up", "../.."), link("a/b/out", "up/../outside"), path="a/b/out", reason="leads out")
    tap.equal(installed(directory("a/b"), link("a/b/up", "../.."), link("a/b/in", "up/a"))[-2:], ["l 4 up/a a/b/in", "l 5 ../.. a/b/up"])
    # Also where the link comes first, and what makes it lead out later.
    refused(directory("a/b"), link("a/b/out", "up/../outside"), link("a/b/up", "../.."), path="a/b/out", reason="leads out")


def test_links_while_others_rename():
    """The kernel cannot always say that a path with .. stays inside while anything is renamed anywhere."""
    deep = "/".join("d" * 40)
    entries = [file("x"), *(link(f"{deep}/{number}", "../" * 40 + "x") for number in range(500))]
    with tempfile.TemporaryDirectory() as folder, place() as made:
        os.mkdir(f"{folder}/a")
        renames = subprocess.Popen([sys.executable, "-c", "import os\nprint(flush=True)\nwhile True:\n os.rename('a', 'b')\n os.rename('b', 'a')"], cwd=folder,
                                   stdout=subprocess.PIPE)
        try:
            renames.stdout.readline()
            made.install(*entries)
        finally:
            renames.kill()
            renames.communicate()
        tap.equal(len(made.inventory()), 541)


def test_links_in_a_circle():
    refused(link("a", "b"), link("b", "a"), path="a", reason="circle")
    tap.equal(installed(link("a", "b"), link("b", "c"), file("c")), ["l 1 b a", "l 1 c b", f"{A} c"])
    tap.equal(installed(link("a", "nowhere"), file("f"), link("b", "f/x")), ["l 7 nowhere a", "l 3 f/x b", f"{A} f"])


def test_a_file_through_a_link():
    """Even one that stays inside: what a path means depends on its own directories alone."""
    refused(directory("d"), link("l", "d"), file("l/new"), path="l/new", reason="goes through an entry that is no directory")
    refused(directory("d"), link("l", "d"), directory("l/new"), path="l/new", reason="goes through")
    refused(directory("d"), link("l", "d"), link("l/new", "x"), path="l/new", reason="goes through")
    refused(file("d/f"), link("l", "d"), hard_link("new", "l/f"), path="new", reason="no file ahead of it")
    refused(file("l"), file("l/new"), path="l/new", reason="goes through")
    refused(link("l", "nowhere"), file("l"), path="l", reason="twice")
    tap.equal(installed(directory("d"), link("l", "d"), file("d/new")), ["d d", f"{A} d/new", "l 1 d l"])


def test_hard_links():
    with place() as made:
        made.install(file("a"), file("x", mode=0o755), hard_link("d/b", "./a"), hard_link("y", "x"))
        tap.equal(made.inventory(), [f"{A} a", "d d", f"{A} d/b", f"x{A[1:]} x", f"x{A[1:]} y"])
        tap.equal((made.content / "a").stat().st_nlink, 1, "a hard link is a copy")
        tap.equal((made.content / "d/b").stat().st_mtime, installer.TIME)
    with place() as made:
        made.refuse(hard_link("b", str(made.canary)), path="b", reason="hard link")
    for target in ("../outside/canary", "../../outside/canary", "/etc/passwd", "."):
        refused(hard_link("b", target), path="b", reason="hard link has no target")
    refused(hard_link("b", ""), path="b", reason="neither file, directory nor link")
    refused(hard_link("b", "a"), file("a"), path="b", reason="no file ahead of it")
    refused(directory("a"), hard_link("b", "a"), path="b", reason="no file ahead of it")
    refused(file("x"), link("a", "x"), hard_link("b", "a"), path="b", reason="no file ahead of it")
    refused(file("a"), file("b"), hard_link("b", "a"), path="b", reason="twice")
    refused(file("a", data=b"x" * 400), hard_link("b", "a"), hard_link("c", "a"), path="c", reason="more bytes", bytes=1000)
    tap.equal(len(installed(file("a", data=b"x" * 400), hard_link("b", "a"), hard_link("c", "a"), bytes=1200)), 3)


def test_other_kinds_of_entries():
    for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
        refused(entry("n", kind, devmajor=1, devminor=3), path="n", reason="neither file, directory nor link")
    tap.equal(installed(entry("n", tarfile.CONTTYPE, data=b"content\n")), [f"{A} n"])
    tap.equal(installed(entry("n", tarfile.AREGTYPE, data=b"content\n")), [f"{A} n"])


def test_more_entries_than_allowed():
    tar = archive(*(file(f"d/{number}", b"") for number in range(9)))
    tap.equal(len(installed(tar, inodes=10)), 10)
    refused(tar, inodes=9, path="d/8", reason="more files and directories than allowed")
    refused(archive(*(link(f"l{number}", "x") for number in range(3))), inodes=2, path="l2", reason="more files and directories")
    refused(archive(*(directory(f"l{number}") for number in range(3))), inodes=2, path="l2", reason="more files and directories")
    refused(file("a/b/c/d"), inodes=3, path="a/b/c/d", reason="more files and directories")
    # An entry of a directory that is there already takes none.
    tap.equal(installed(*(directory("d") for _ in range(9)), inodes=1), ["d d"])


def test_entries_without_end():
    """What is behind the one that is too many is not read, were it a million."""
    with place() as made:
        tar = b"".join(header(b"%07d" % number) for number in range(5001)) + b"no header" * 100000
        made.refuse(tar, path="0005000", reason="more files and directories than allowed", inodes=5000)
        tap.equal(len(list(made.content.iterdir())), 5000)
    tap.equal(len(installed(b"".join(header(b"%07d" % number) for number in range(5000)) + END, inodes=5000)), 5000)


def test_more_bytes_than_allowed():
    tap.equal(len(installed(file("a", b"x" * 500), file("b", b"y" * 500), bytes=1000)), 2)
    refused(file("a", b"x" * 500), file("b", b"y" * 501), bytes=1000, path="b", reason="more bytes than allowed")


def test_a_size_that_is_a_lie():
    for field in (b"77777777777\0", b"\x80" + b"\0" * 4 + b"\x7f" + b"\xff" * 6, b"\x80" + b"\0" * 6 + b"\4\0\0\0\1"):
        refused(header(b"a", size_field=field) + padded(b"content\n") + END, path="a", reason="more bytes than allowed")
    for field in (b"\xff" * 12, b"-0000000010\0", b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7):
        with place() as made:
            status, _ = made.run("install", header(b"a", size_field=field) + END)
            made.check_surroundings()
            tap.equal(status, 1, f"size {field}")
    for value in (b"-1", b"99999999999999999999", b"9223372036854775807", b"x"):
        with place() as made:
            status, _ = made.run("install", pax([(b"size", value)]) + header(b"a", 8) + padded(b"content\n") + END)
            made.check_surroundings()
            tap.equal(status, 1, f"size {value}")
    refused(header(b"a", 5000) + padded(b"content\n") + END, path="a", reason="content cannot be read")
    tap.equal(installed(pax([(b"size", b"8")]) + header(b"a", 0) + padded(b"content\n") + END), [f"{A} a"])
    tap.equal(installed(header(b"a", 8) + padded(b"content\n") + END), [f"{A} a"])


def test_files_with_holes():
    """A small archive of a large file. Each form of it has the same file without a hole beside it."""
    old = bytearray(header(b"a", 512, kind=b"S"))

    def gnu_sparse(offset, real):
        block = bytearray(old)
        block[257:265] = b"ustar  \0"
        block[386:410] = b"%011o\0%011o\0" % (offset, 512)
        block[483:495] = b"%011o\0" % real
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        return bytes(block) + b"c" * 512 + END

    refused(gnu_sparse(1 << 20, (1 << 20) + 512), path="a", reason="holes")
    refused(gnu_sparse(0, 1 << 20), path="a", reason="holes")
    tap.equal(len(installed(gnu_sparse(0, 512))), 1)
    for records in ([(b"GNU.sparse.size", b"1048576"), (b"GNU.sparse.numblocks", b"1"), (b"GNU.sparse.map", b"1048568,8")],
                    [(b"GNU.sparse.size", b"1048576"), (b"GNU.sparse.numblocks", b"0"), (b"GNU.sparse.map", b"")]):
        refused(pax(records) + header(b"a", 8) + padded(b"content\n") + END, path="a", reason="holes")
    control = [(b"GNU.sparse.size", b"8"), (b"GNU.sparse.numblocks", b"1"), (b"GNU.sparse.map", b"0,8")]
    tap.equal(installed(pax(control) + header(b"a", 8) + padded(b"content\n") + END), [f"{A} a"])


def test_names_of_control_characters_and_other_bytes():
    for name, shown in ((b"a\nb", "a\nb"), (b"a\tb", "a\tb"), (b"\x7f", "\x7f"), (b"a\x1b[2J", "a\x1b[2J"), ("\x85".encode(), "\x85")):
        refused(header(name) + END, path=shown, reason="control characters")
        refused(pax([(b"path", name)]) + header(b"a") + END, path=shown, reason="control characters")
    for name in (b"a\xff", b"\xc0\xaf", b"a\xed\xa0\x80", b"\xc3"):
        with place() as made:
            status, answer = made.run("install", header(name) + END)
            tap.equal(status, 1, answer)
            made.check_surroundings()
    for name in ("ä", "日本語", "a b", "a\\b", "\U0001f600", "-rf", "a'b\"c", "\u00a0"):
        tap.equal(installed(header(name.encode(), 8) + padded(b"content\n") + END), [f"{A} {name}"])
        tap.equal(installed(pax([(b"path", name.encode())]) + header(b"a", 8) + padded(b"content\n") + END), [f"{A} {name}"])
    for target in ("a\nb", "a\x7f"):
        refused(link("l", target), path="l", reason="control characters")
    tap.equal(installed(link("l", "ä b")), ["l 4 ä b l"])


def test_a_name_with_a_nul():
    """It ends there, for libarchive and for the kernel alike: nothing behind it means anything."""
    tap.equal(installed(header(b"a\0../../b", 8) + padded(b"content\n") + END), [f"{A} a"])
    with place() as made:
        status, answer = made.run("install", pax([(b"path", b"a\0/../../outside/canary")]) + header(b"b", 8) + padded(b"content\n") + END)
        made.check_surroundings()
        tap.true(status == 1 or made.inventory() == [f"{A} a"], f"{status} {answer}")


def test_long_and_deep_paths():
    tap.equal(len(installed(file("/".join(["d"] * 64)))), 64)
    deep = "/".join(["d"] * 65)
    refused(file(deep), path=deep, reason="more parts than allowed")
    tap.equal(installed(file("n" * 255)), [f"{A} {'n' * 255}"])
    refused(file("n" * 256), path="n" * 256, reason="more than 255 bytes")
    longest = "/".join(["n" * 254] * 16)
    for form in (GNU, PAX):
        tap.equal(len(installed(archive(file(longest + "/" + "m" * 15), format=form))), 17)
        with place() as made:
            _, answer = made.run("install", archive(file(longest + "/" + "m" * 16), format=form))
            tap.contains(answer["error"], "longer than allowed")
    very = "/".join(["d"] * 50000)
    with place() as made:
        status, answer = made.run("install", archive(file(very), format=PAX))
        tap.equal(status, 1, answer)
        made.check_surroundings()


def test_an_entry_that_comes_again():
    refused(file("a"), file("a", b"other"), path="a", reason="twice")
    refused(file("a"), file("./a", b"other"), path="a", reason="twice")
    refused(file("a"), link("a", "b"), path="a", reason="twice")
    refused(file("a"), link("a", "b"), file("a"), path="a", reason="twice")
    refused(link("a", "b"), file("a"), path="a", reason="twice")
    refused(link("a", "b"), directory("a"), path="a", reason="as another kind of entry")
    refused(file("a"), directory("a"), path="a", reason="as another kind of entry")
    refused(directory("a"), file("a"), path="a", reason="twice")
    refused(directory("a"), link("a", "b"), path="a", reason="twice")
    tap.equal(installed(directory("a"), file("a/b"), directory("a"), file("a/c")), ["d a", f"{A} a/b", f"{A} a/c"])


def test_names_that_other_systems_treat_otherwise():
    """Two spellings of one letter are two names, and the files that another system would hide are files."""
    tap.equal(installed(file("\u00e9"), file("e\u0301"), file("._a"), file(".DS_Store"), file("a"), file("__MACOSX/._a"), file("con"), file("x:y")),
              [f"{A} {name}" if name != "__MACOSX" else f"d {name}" for name in
               (".DS_Store", "._a", "__MACOSX", "__MACOSX/._a", "a", "con", "e\u0301", "x:y", "\u00e9")])


def test_texts_that_are_not_ascii_wherever_they_are():
    tap.equal(installed(file("ä/é", uname="ü", gname="ö"), hard_link("ß", "ä/é"), link("ø", "ä/é")), [f"{A} ß", "d ä", f"{A} ä/é", "l 5 ä/é ø"])
    for form in (GNU, PAX):
        tap.equal(len(installed(archive(file("ä" * 40 + "/" + "é" * 100), link("l", "ö" * 99), format=form))), 3)
    tap.equal(len(installed(archive(file("ä" * 40 + "/" + "é" * 40), link("l", "ö" * 49), format=USTAR))), 3)


def test_kinds_that_nobody_knows():
    """They are files to whoever does not know them (POSIX), and no more than that."""
    for kind in (b"8", b"Q", b"s"):
        tap.equal(installed(header(b"a", 8, kind=kind) + padded(b"content\n") + END), [f"{A} a"])
    for kind in (b"M", b"N", b"V", b"D", b"K", b"L", b"x", b"g", b"A", b"X"):
        with place() as made:
            made.run("install", header(b"../../outside/canary", 8, kind=kind) + padded(b"content\n") + header(b"b", 8) + padded(b"content\n") + END)
            made.check_surroundings()
            tap.true(not (made.content / "canary").exists(), kind)


def test_names_that_differ_in_case():
    tap.equal(installed(file("A"), file("a"), file("Ä"), file("ä")), [f"{A} A", f"{A} a", f"{A} Ä", f"{A} ä"])


def test_pax_records_of_every_kind():
    tap.equal(installed(pax([(b"path", b"p"), (b"mtime", b"1700000000.5"), (b"uid", b"0"), (b"uname", b"root"), (b"comment", b"x"),
                             (b"SCHILY.xattr.security.capability", b"\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), (b"SCHILY.fflags", b"nodump")])
                        + header(b"a", 8) + padded(b"content\n") + END), [f"{A} p"])
    refused(pax([(b"linkpath", b"../../x")]) + header(b"l", kind=b"2", target=b"ok") + END, path="l", reason="leads out")
    refused(pax([(b"linkpath", b"/x")]) + header(b"l", kind=b"1", target=b"ok") + END, path="l", reason="hard link")
    tap.equal(installed(pax([(b"linkpath", b"fine")]) + header(b"l", kind=b"2", target=b"ok") + END), ["l 4 fine l"])
    for path in (b"", b"/", b"//", b"..", b"a/../../b"):
        with place() as made:
            status, answer = made.run("install", pax([(b"path", path)]) + header(b"..", 8) + padded(b"content\n") + END)
            made.check_surroundings()
            tap.equal(status, 1, f"{path} {answer}")
    # A global record is for all entries; here for one that would otherwise be harmless.
    with place() as made:
        made.run("install", pax([(b"path", b"../../outside/canary")], kind=b"g") + header(b"a", 8) + padded(b"content\n") + END)
        made.check_surroundings()


def test_times_out_of_range():
    for value, seconds in ((b"-5", 0), (b"1.9", 1), (b"99999999999999", 2**32 - 1)):
        with place() as made:
            made.install(pax([(b"mtime", value)]) + header(b"a", 8) + padded(b"content\n") + END)
            tap.true((made.content / "a").stat().st_mtime_ns in (seconds * 10**9, (2**31 - 1) * 10**9, 15032385535 * 10**9), f"time of {value}")


def test_archives_that_are_cut():
    tar = archive(file("a", b"x" * 700), file("b", b"y" * 10), format=USTAR)
    whole = 512 + 1024 + 512 + 512 + 1024
    tap.equal(len(installed(tar[:whole])), 2)
    for length in (*range(0, whole, 256), whole - 1, 513, 1535):
        with place() as made:
            status, answer = made.run("install", tar[:length])
            tap.equal(status, 1, f"{length} bytes: {answer}")
            made.check_surroundings()
            tap.true(not (made.path / "inventory").exists(), "an inventory of what is not whole")
    refused(header(b"a") + pax([(b"path", b"b")]) + END, path="", reason="")


def test_what_is_behind_the_end():
    tar = archive(file("a"))
    tap.equal(len(tar) % 10240, 0)
    tap.equal(installed(tar + b"\0" * 10240), [f"{A} a"])
    for more in (b"x", b"\0" * 4096 + b"x", archive(file("b")), b"\0" * 511 + b"\1"):
        refused(tar + more, path="", reason="goes on behind its end mark")
    refused(tar + b"\0" * (1 << 20), path="", reason="goes on behind its end mark")


def test_what_is_no_tar_archive():
    import bz2
    import gzip
    import lzma
    import zipfile
    import io
    tar = archive(file("a"))
    tap.equal(installed(tar), [f"{A} a"])
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w") as zipped:
        zipped.writestr("a", "content\n")
    for packed in (gzip.compress(tar), bz2.compress(tar), lzma.compress(tar), room.getvalue(), b"!<arch>\n" + tar, b"x" * 10240, b"\x1f\x8b" + tar):
        with place() as made:
            status, answer = made.run("install", packed)
            tap.equal(status, 1, answer)
            made.check_surroundings()
            tap.equal(list(made.content.iterdir()), [], "what came of it")
    two = archive(file("a"), file("b"))
    for place_of in (100, 1024 + 100):
        damaged = bytearray(two)
        damaged[place_of] ^= 1
        refused(bytes(damaged), path="", reason="not a well-formed tar archive")


def test_two_installations_are_the_same():
    entries = [directory("p"), file("p/a", b"1" * 3000), file("p/b", mode=0o755), link("p/l", "a"), hard_link("p/h", "p/a"), file("q/z")]
    with place() as one, place() as other, place() as third:
        first, second = one.install(*entries), other.install(*entries)
        # Nor do order, times, owners and form make a difference.
        again = third.install(archive(file("q/z", mtime=5, uid=7), file("p/a", b"1" * 3000), hard_link("p/h", "p/a"), link("p/l", "a"),
                                      file("p/b", mode=0o700), format=GNU))
        tap.equal((first["sha256"], one.inventory()), (second["sha256"], other.inventory()))
        tap.equal((first["sha256"], one.inventory()), (again["sha256"], third.inventory()))
        tap.true(first["stamp"] != second["stamp"], "each has a stamp of its own")
    with place() as made:
        tap.true(made.install(*entries[:-1], file("q/z", b"other"))["sha256"] != first["sha256"], "another content has another digest")


tap.run(globals())
