# SPDX-License-Identifier: Apache-2.0
"""The Debian package that scripts/build-package makes, the manual page and the completions in it. It is installed below a directory
of the test's own, never on this machine. Its build, which has no tests, is then the one that scripts/bench finds where scripts/quickstart
has been."""
import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / name) for name in ("support", "bench")]
import builds
import links
import tap
from gateway import OURS

TOP = pathlib.Path(__file__).parents[2]
folder = tempfile.TemporaryDirectory()
scratch = pathlib.Path(folder.name)
CLEAN = {name: value for name, value in os.environ.items() if name not in ("CODE_EXECUTE_SO", "PYTHONPATH", "NINJAFLAGS")}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


def made(*command, **options):
    done = run(*command, **options)
    tap.equal(done.returncode, 0, f"{command[0]}: {done.stderr[-2000:]}")
    return done.stdout


build = scratch / "build"
# Only faster to compile, and to pack: dpkg-deb(1).
package = pathlib.Path(made(TOP / "scripts" / "build-package", scratch, "-Doptimization=0", "-Ddebug=false",
                            env={**CLEAN, "PACKAGE_BUILD": str(build), "DPKG_DEB_COMPRESSOR_TYPE": "none"}).split()[-1])
root = scratch / "root"
made("dpkg-deb", "--extract", package, root)
toolhost = root / "usr" / "bin" / "toolhost"


def test_it_depends_on_the_libraries_it_links():
    fields = made("dpkg-deb", "--field", package, "Depends")
    for library in ("libc6", "libjansson4", "libseccomp2", "libcurl4", "libmd0", "libarchive13", "libyaml-0-2"):
        tap.contains(fields, library)


def test_a_run_from_the_packages_tree():
    done = run(toolhost, "--approve", "always", "--audit", "/dev/null", "run", "--language", "sh", "-c", "echo $((6*7))", env=CLEAN)
    tap.equal((done.returncode, done.stdout), (0, "42\n"), done.stderr)


def test_the_links_of_its_documents_lead_somewhere():
    documents = root / "usr" / "share" / "doc" / "code-execute"
    pages = [page.relative_to(documents) for page in documents.rglob("*.md")]
    tap.true(len(pages) > 10, pages)
    tap.equal(links.broken(documents, pages)[0], [], "links that lead nowhere")


def dpkg(*what, base):
    for part in ("updates", "info"):
        (base / "var" / "lib" / "dpkg" / part).mkdir(parents=True, exist_ok=True)
    (base / "var" / "lib" / "dpkg" / "status").touch()
    return made("dpkg", f"--root={base}", "--force-script-chrootless", "--force-depends", "--force-not-root", *what,
                env={**CLEAN, "PATH": CLEAN["PATH"] + ":/usr/sbin:/sbin"})


def installed(name, with_apparmor):
    base = scratch / name
    (base / "etc" / "apparmor.d" / "abi").mkdir(parents=True)
    if with_apparmor:
        (base / "etc" / "apparmor.d" / "abi" / "4.0").touch()
    dpkg("--install", package, base=base)
    return base


def test_the_profile_is_put_where_apparmor_knows_its_words_and_goes_with_the_package():
    base = installed("ubuntu", True)
    profile = base / "etc" / "apparmor.d" / "code-execute-process"
    tap.equal(profile.read_text(), (TOP / "policies" / "apparmor" / "code-execute-process").read_text(), "the profile")
    dpkg("--remove", "code-execute", base=base)
    tap.equal([profile.exists(), (base / "usr" / "bin" / "toolhost").exists()], [False, False], "after its removal")
    older = installed("debian", False)
    tap.true((older / "usr" / "bin" / "toolhost").exists(), "installed there too")
    tap.true(not (older / "etc" / "apparmor.d" / "code-execute-process").exists(), "an older AppArmor would not read it")


def test_the_profile_is_for_the_program_that_is_installed():
    pattern = re.search(r"^profile \S+ (\S+) ", (TOP / "policies" / "apparmor" / "code-execute-process").read_text(), re.M).group(1)
    found = [f"/{path.relative_to(root)}" for path in root.glob(pattern.lstrip("/"))]
    tap.equal([len(found), os.access(root / found[0][1:], os.X_OK)], [1, True], pattern)


def commands():
    return [line.split()[1] for line in made(toolhost, "completion-words", env=CLEAN).splitlines() if line.startswith("command ")]


def options_of_help(*command):
    return set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", made(toolhost, "help", *command, env=CLEAN), re.M))


def groff(page):
    return subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z"], input=page, capture_output=True, text=True, env=CLEAN)


def test_the_manual_page_has_every_option_and_no_fault():
    page = gzip.decompress((root / "usr" / "share" / "man" / "man1" / "toolhost.1.gz").read_bytes()).decode()
    shown = page.replace("\\-", "-")
    parts = dict(re.findall(r"^\.SH TOOLHOST (\S+)\n(.*?)(?=^\.SH |\Z)", shown, re.M | re.S))
    tap.equal(sorted(parts), sorted(name.upper() for name in commands()), "a section for each command")
    for name in commands():
        missing = [option for option in options_of_help(name) if option not in parts[name.upper()]]
        tap.equal(missing, [], f"options of {name} that are missing")
    entries = [entry.split("\n")[1] for entry in shown.split(".TP")[1:]]
    tap.equal([entry for entry in entries if len(entry) > 50], [], "what stands in bold is the entry and not its text")
    warned = groff(page)
    tap.equal((warned.returncode, warned.stderr), (0, ""), "groff")
    tap.true(groff(page + "\n.no-such-macro\n").stderr, "groff would tell")


FILES = scratch / "work"
(FILES / "policies").mkdir(parents=True)
for name in ("policy.json", "pol icy.json", "script.py"):
    (FILES / name).touch()


def completed(*words):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_toolhost "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\\n" "${COMPREPLY[@]}"')
    file = root / "usr" / "share" / "bash-completion" / "completions" / "toolhost"
    return set(made("bash", "-c", script, "bash", file, toolhost, *words, env=CLEAN, cwd=FILES).splitlines()) - {""}


def completed_by_zsh(*words):
    """The script as zsh's completion runs it, with its own functions told instead of called."""
    file = root / "usr" / "share" / "zsh" / "vendor-completions" / "_toolhost"
    script = ('compadd() { shift; print -rl -- "$@" }; _files() { print -r -- "files $*" }; compset() { PREFIX=${PREFIX#*=} }; '
              'file=$1; shift; words=("$@"); CURRENT=$#; PREFIX=$words[CURRENT]; run() { source $file }; run')
    return set(made("zsh", "-f", "-c", script, "zsh", file, toolhost, *words, env=CLEAN).splitlines()) - {""}


def test_bash_completes_commands_options_and_values():
    tap.equal(completed(""), set(commands()))
    tap.equal(completed("run", "--pol"), {"--policy"})
    for name in commands():
        tap.equal(completed(name, "--"), options_of_help(name), f"options of {name}")
    tap.equal(completed("run", "--sandbox", "d"), {"docker"})
    tap.equal(completed("mcp", "--mode", "=", "d"), {"docker"}, "--mode=d, as readline splits it")
    tap.equal(completed("run", "--approve", "q"), {"queue"})
    tap.equal(completed("audit", ""), {"verify", "show", "head", "rotate"})


def test_bash_completes_files():
    tap.equal(completed("run", "scr"), {"script.py"})
    tap.equal(completed("run", "--policy", "pol"), {"policy.json", "pol icy.json", "policies"})
    tap.equal(completed("run", "--policy", "=", "script"), {"script.py"})
    tap.equal(completed("policy", "check", "policy"), {"policy.json"})
    tap.equal(completed("run", "--workspace", "pol"), {"policies"})
    tap.equal(completed("run", "script.py", "--", "pol"), {"policy.json", "pol icy.json", "policies"})
    tap.equal(completed("run", "--timeout", ""), set())


def test_zsh_completes_the_same():
    tap.equal(completed_by_zsh(""), set(commands()))
    for name in commands():
        tap.true(options_of_help(name) <= completed_by_zsh(name, "--"), f"options of {name}")
    tap.equal(completed_by_zsh("audit", ""), {"verify", "show", "head", "rotate"})
    tap.true("docker" in completed_by_zsh("run", "--sandbox", ""), "values")
    tap.true("docker" in completed_by_zsh("run", "--sandbox=d"), "values behind =")
    tap.equal(completed_by_zsh("run", ""), {"files "})
    tap.equal(completed_by_zsh("run", "--policy", ""), {"files "})
    tap.equal(completed_by_zsh("run", "--workspace", ""), {"files -/"})
    tap.equal(completed_by_zsh("run", "--timeout", ""), set())


def test_a_build_without_tests_and_docker_mode_gets_what_is_measured():
    made("meson", "configure", build, "-Ddocker=disabled", env=CLEAN)
    tap.equal(builds.missing(build), build / "tests/bench/bench_gateway", "what is missing before")
    builds.make(build)
    tap.equal(builds.missing(build), None, "what is missing")
    told = made(TOP / "scripts" / "bench", "--quick", "--no-build", "--runs", "1", "--only", "process-sh-cold", "--json", scratch / "bench.json",
                env={**CLEAN, "CODE_EXECUTE_BUILD": str(build)})
    tap.contains(told, f"| process-sh-cold | {OURS} |", "the table")


def test_it_fails_at_once_where_it_cannot_write():
    """Before anything is installed or compiled, so in no time and without a package manager."""
    done = run(TOP / "scripts" / "build-package", scratch / "nowhere", env={**CLEAN, "PATH": "/nonexistent:/usr/bin:/bin"}, timeout=20)
    tap.equal((done.returncode, done.stdout), (1, ""))
    tap.contains(done.stderr, "nowhere is not a writable directory")


tap.run(globals())
