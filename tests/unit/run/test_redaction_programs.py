# SPDX-License-Identifier: Apache-2.0
"""Secrets as real programs print them: Python, dash, bash, Node, Perl and PHP show a variable in the forms that their users
know, and nothing of the value is left. Where a read ends does not matter. The redaction is asked by redaction_bridge."""
import os
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap

BRIDGE = sys.argv[1]
LABEL = b"[redacted:x]"

# Letters between what is special, so that a value that is left is seen by its letters.
VALUES = [value if isinstance(value, bytes) else value.encode() for value in [
    "plainwords", "it's-abcd", "say\"abcd\"efgh", "it's\"abcd", "back\\slash\\abcd", "esc\x1babcd\x07efgh\x7fijkl",
    "line\nnext\tabcd\r\x0b\x0c\x08", "$HOME`abcd`!efgh", "umlaut-\u00e4bcd-\u00f6", "\u20ac\U0001f600abcd", "quote''abcd'''efgh",
    "'begins-abcd", "ends-abcd'", "ends-abcd''", "<a href=\"abcd\">&'efgh'</a>", "a b;c|d&efgh(ijkl)", "[x]{y}*?~#^abcd,=:%@+",
    "nbsp\u00a0soft\u00adzero\u200babcd", "c1\u0085\u009babcd", b"stray\xffabcd\xfe", "tab\tit's\"\\\x1b\u00e4abcd$`",
    "it's\\abcd", "\\'abcd", "-----BEGIN KEY-----\nabcd+/'=\nefgh\n-----END KEY-----",
]]

SEPARATOR = b"\0\0\0"

# Interpreters show all values in one go: their arguments are the values in hexadecimal.
PYTHON = """
import os, html, json, shlex, sys
from xml.sax import saxutils
for value in sys.argv[1:]:
    os.environb[b"T"] = b = bytes.fromhex(value)
    t = os.environ["T"]
    sys.stdout.buffer.write(({}).encode("utf-8", "surrogateescape") + bytes(3))
"""
NODE = "for (const value of process.argv.slice(1)) {{ process.env.T = Buffer.from(value, 'hex'); const t = process.env.T; " \
       "console.log({}); process.stdout.write('\\0\\0\\0'); }}"
PERL = "for (@ARGV) {{ $t = pack('H*', $_); {}; print \"\\0\\0\\0\" }}"
PHP = "foreach (array_slice($argv, 1) as $value) {{ $t = hex2bin($value); {}; echo \"\\0\\0\\0\"; }}"


def python(expression):
    return ["python3", "-c", PYTHON.format(expression)]


def node(expression):
    return ["node", "-e", NODE.format(expression), "--"]


def php(statement):
    return ["php", "-r", PHP.format(statement), "--"]


PROGRAMS = {
    "python repr": python("repr(t)"),
    "python repr in a list": python("repr(['a', t, 'b'])"),
    "python repr in a longer text": python("repr('curl -H ' + t + ' it\\'s')"),
    "python repr in a text of both quotes": python("repr('a\"' + t + '\\'')"),
    "python format": python("f'{t!r}'"),
    "python ascii": python("ascii(t)"),
    "python bytes": python("repr(b)"),
    "python bytes in a longer text": python("repr(b'it\\'s ' + b)"),
    "python environ": python("str(os.environ)"),
    "python shlex.quote": python("shlex.quote(t)"),
    "python shlex.join": python("shlex.join(['curl', '-H', 'Authorization: Bearer ' + t])"),
    "python html.escape": python("html.escape(t)"),
    "python html.escape(quote=False)": python("html.escape(t, quote=False)"),
    "python saxutils.escape": python("saxutils.escape(t)"),
    "python json.dumps": python("json.dumps(t)"),
    "python repr in a tuple": python("repr((t,))"),
    "sh set -x": ["dash", "-c", "set -x; : \"$T\""],
    "sh set -x in a word": ["dash", "-c", "set -x; : \"Bearer $T\""],
    "sh export -p": ["dash", "-c", "export -p"],
    "sh set": ["dash", "-c", "U=$T; set"],
    "bash set -x": ["bash", "-c", "set -x; : \"$T\""],
    "bash set -x in a word": ["bash", "-c", "set -x; : \"Bearer $T it's\""],
    "bash set -x of an assignment": ["bash", "-c", "set -x; U=$T"],
    "bash export -p": ["bash", "-c", "export -p"],
    "bash declare -p": ["bash", "-c", "U=$T; declare -p U"],
    "bash set": ["bash", "-c", "U=$T; set"],
    "bash printf %q": ["bash", "-c", "printf %q \"$T\""],
    "bash @Q": ["bash", "-c", "echo \"${T@Q}\""],
    "bash as sh export -p": ["bash", "--posix", "-c", "export -p"],
    "node inspect": node("[process.env.T]"),
    "node inspect of a longer text": node("['it\\'s \"`' + process.env.T]"),
    "node JSON": node("JSON.stringify(process.env)"),
    "perl Data::Dumper": ["perl", "-MData::Dumper", "-e", PERL.format("print Dumper($t)")],
    "php var_export": php("var_export($t)"),
    "php htmlspecialchars": php("echo htmlspecialchars($t, ENT_QUOTES | ENT_SUBSTITUTE)"),
}


def output_of(arguments, environment):
    done = subprocess.run(arguments, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return done.stdout + done.stderr


def shows(program, values, locale):
    arguments = PROGRAMS[program]
    environment = {b"PATH": os.environb[b"PATH"], b"LC_ALL": locale}
    if arguments[0] in ("dash", "bash"):
        return [output_of(arguments, {**environment, b"T": value}) for value in values]
    parts = output_of(arguments + [value.hex() for value in values], environment).split(SEPARATOR)
    tap.equal(len(parts), len(values) + 1, "outputs")
    return parts[:-1]


def redact(pairs):
    lines = "".join(f"{secret.hex()} {output.hex()}\n" for secret, output in pairs)
    done = subprocess.run([BRIDGE], input=lines, capture_output=True, text=True, check=True)
    return [bytes.fromhex(line) for line in done.stdout.splitlines()]


def words(value):
    """What of a value is looked for in redacted output. No program prints these by itself."""
    return [word for word in (b"abcd", b"efgh", b"ijkl", b"wxyz", b"plainwords") if word in value]


def can_tell(program, value):
    """A program that changes the value itself shows something else than the secret."""
    stray = value.decode("utf-8", "replace").encode() != value
    return not (stray and program.startswith(("node", "php html")))


def check(program, values):
    if not shutil.which(PROGRAMS[program][0]):
        raise tap.Skip(f"{PROGRAMS[program][0]} is not installed")
    for locale in b"C.UTF-8", b"C":
        usable = [value for value in values if can_tell(program, value)]
        outputs = shows(program, usable, locale)
        for value, output, redacted in zip(usable, outputs, redact(zip(usable, outputs))):
            tap.contains(redacted, LABEL, f"{program}: {output!r} of {value!r}")
            for word in words(value):
                tap.lacks(redacted, word, f"{program}: {output!r} of {value!r}")


def generated(seed):
    """Values of special characters between words."""
    source = random.Random(seed)
    special = "'\"\\`$&<>\n\t\x1b\x01\x7f \u00e4\u20ac\U0001f600!(){}[];|*?"
    return "".join(f"{''.join(source.choices(special, k=source.randrange(1, 4)))}wxyz" for _ in range(5)).encode()


def case(program):
    def test():
        check(program, VALUES + [generated(seed) for seed in range(12)])
    return test


for name in PROGRAMS:
    globals()["test_" + "".join(c if c.isalnum() else "_" for c in name)] = case(name)


def test_the_control_is_seen():
    """Without its secret nothing is redacted: the words are found."""
    [output] = shows("python repr", [b"it's\"abcd"], b"C.UTF-8")
    [redacted] = redact([(b"another secret", output)])
    tap.equal(redacted, output)
    tap.contains(redacted, b"abcd")


tap.run(globals())
