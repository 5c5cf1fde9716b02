# SPDX-License-Identifier: Apache-2.0
"""Tells what a Python program has to show besides its output: the value of its last expression, what it passes to display(), and the
exception that ends it. It writes frames (docs/internals/run.md) to the run's results descriptor. Runs in the program's own process, so
what it says is as trustworthy as the program's output. It imports nothing: what the program has not imported is not looked at."""
import os
import sys
from _thread import allocate_lock

RESULT, EXCEPTION, OMITTED = 1, 2, 3  # kinds of frames
ITEMS_LIMIT, TEXT_LIMIT, IMAGE_LIMIT, TOTAL_LIMIT = 64, 1 << 20, 8 << 20, 16 << 20
LENGTH_LIMIT = 10000  # members of a container
DEPTH_LIMIT = 40
NAME_LIMIT = 200
STRING_LIMIT = 1 << 18  # characters of a string inside of a value
DIGITS_LIMIT = 4300  # of an integer: more take long
MESSAGE_LIMIT = 8192  # characters of an exception's value
FRAMES_LIMIT = 50
REHEARSALS = 20
EXACT_INTEGER = 2**53  # JSON's readers keep numbers up to here
IMAGES = ("image/png", "image/jpeg")
NUMBERS = (int, float, bool)
CONTAINERS = (list, tuple, dict)
METHODS = (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html"),
           ("_repr_markdown_", "text/markdown"), ("_repr_json_", "application/json"))
KNOWN = {mime_type for _, mime_type in METHODS} | {"text/plain", "application/vnd.vegalite.v5+json", "application/vnd.plotly.v1+json"}
LIBRARIES = {"pandas": "tables", "polars": "tables", "pyarrow": "tables", "matplotlib": "figures", "seaborn": "figures",
             "plotly": "specifications", "altair": "specifications", "PIL": "images"}  # whose objects a file beside this one knows
NEEDED = (*LIBRARIES.items(), ("matplotlib", "charts"))  # libraries and files: compiled ahead where the library is there
ESCAPES = {**{number: f"\\u{number:04x}" for number in range(1, 32)}, 0: "\ufffd", ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n"}


class NotJson(Exception):
    """The value has no exact form in JSON."""


class Full(Exception):
    """A text has reached its limit."""


class Raw(str):
    """A text that is JSON already."""


def encode_text(value):
    is_as_it_is = value.isprintable() and '"' not in value and "\\" not in value
    return '"' + (value if is_as_it_is else value.translate(ESCAPES)) + '"'


def to_json(value, depth=DEPTH_LIMIT):
    """Exact types only; a subclass may mean something else."""
    kind = type(value)
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if kind is Raw:
        return str.__str__(value)
    if kind is str:
        return encode_text(value)
    if kind is int and -EXACT_INTEGER < value < EXACT_INTEGER:
        return int.__repr__(value)
    if kind is float and value - value == 0:
        return float.__repr__(value)
    if kind not in (list, dict) or depth == 0 or len(value) > LENGTH_LIMIT:
        raise NotJson
    if kind is list:
        return "[" + ",".join([to_json(item, depth - 1) for item in value]) + "]"
    if value and set(map(type, value)) != {str}:
        raise NotJson
    return "{" + ",".join([encode_text(key) + ":" + to_json(item, depth - 1) for key, item in value.items()]) + "}"


def exact_json(value):
    """What a reader makes of it is the value."""
    text = to_json(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        raise NotJson from None
    if "\ufffd" in text:  # perhaps a NUL, which many readers refuse
        raise NotJson
    return Raw(text)


class Shortened:
    """A repr() whose length is bounded before it is made."""

    BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})"), dict: "{}",
                type({}.keys()): ("dict_keys([", "])"), type({}.values()): ("dict_values([", "])"), type({}.items()): ("dict_items([", "])")}

    def __init__(self, limit):
        self.parts, self.room, self.within = [], limit, set()

    def add(self, text):
        self.parts.append(text[:self.room])
        self.room -= len(text)
        if self.room < 0:
            raise Full

    def of(self, value):
        if type(value) in NUMBERS and -EXACT_INTEGER < value < EXACT_INTEGER:
            return repr(value)
        try:
            self.take(value)
        except Full:
            self.parts.append("...")
        return "".join(self.parts)

    def take(self, value):
        kind = type(value)
        if kind in self.BRACKETS:
            self.take_container(value, kind)
        elif kind in (str, bytes, bytearray) and len(value) > STRING_LIMIT:
            self.add(f"{value[:STRING_LIMIT]!r}... ({len(value)} in all)")
        elif kind is int and value.bit_length() > DIGITS_LIMIT * 3:
            self.add(f"<int of {value.bit_length()} bits>")
        else:
            self.add(repr_of(value))

    def take_container(self, value, kind):
        begin, end = self.BRACKETS[kind]
        if not value and kind in (set, frozenset):
            return self.add(kind.__name__ + "()")
        if id(value) in self.within or len(self.within) >= DEPTH_LIMIT:
            return self.add(begin + "..." + end)
        self.within.add(id(value))
        self.add(begin)
        for number, item in enumerate(value.items() if kind is dict else value):
            if number:
                self.add(", ")
            if number == LENGTH_LIMIT:
                self.add(f"... ({len(value)} in all)")
                break
            if kind is dict:
                self.take(item[0])
                self.add(": ")
                item = item[1]
            self.take(item)
        self.add("," + end if kind is tuple and len(value) == 1 else end)
        self.within.discard(id(value))


def repr_of(value):
    try:
        return str.__str__(repr(value))
    except Exception as error:
        return f"<{name_of(type(value))}: its repr() raised {name_of(type(error))}>"


def short_repr(value, limit=TEXT_LIMIT - 64):
    return Shortened(limit).of(value)


def name_of(kind):
    module = type.__getattribute__(kind, "__module__")
    name = type.__getattribute__(kind, "__qualname__")
    return (name if module in ("builtins", "__main__") or type(module) is not str else f"{module}.{name}")[:NAME_LIMIT]


class Channel:
    """The results descriptor of the process that was started for the run. What a child of it shows goes to its output."""

    def __init__(self):
        self.fd, self.identity, self.pid = -1, None, -1
        self.lock = allocate_lock()
        self.items, self.bytes, self.omitted = 0, 0, {}
        self.writer = None  # of tool_channel.py, once the program calls tools: a frame is whole between two of theirs

    def use(self, fd, pipe):
        """pipe: what the descriptor and the process were at the program's begin; None: the run has no results."""
        if pipe is not None and self.pid == -1:
            status, self.pid = pipe
            self.fd, self.identity = fd, self.identity_of(status)

    def restart(self, fd):
        """For the next cell of a session."""
        self.fd, self.identity, self.pid = fd, self.identity_of(os.fstat(fd)), os.getpid()
        self.items, self.bytes, self.omitted = 0, 0, {}

    @staticmethod
    def identity_of(status):
        """None where it is no pipe."""
        return (status.st_dev, status.st_ino) if status.st_mode & 0o170000 == 0o010000 else None

    def is_unchanged(self):
        """A program may have closed the descriptor, and have another file there."""
        try:
            return self.identity is not None and self.identity_of(os.fstat(self.fd)) == self.identity
        except OSError:
            return False

    def is_there(self):
        return self.identity is not None and self.pid == os.getpid()

    def send(self, kind, payload):
        if not self.is_unchanged():
            return
        frame = memoryview(len(payload).to_bytes(4, "little") + bytes((kind,)) + payload)
        try:
            if self.writer is not None:
                self.writer(frame)
                return
            while frame:
                frame = frame[os.write(self.fd, frame):]
        except OSError:
            self.identity = None

    def omit(self, size, reason):
        """The first of a reason at once, the others at the end."""
        count, total = self.omitted.get(reason, (-1, -size))
        self.omitted[reason] = count + 1, total + size
        if count < 0:
            self.send_omitted(reason, 1, size)

    def send_omitted(self, reason, count, size):
        self.send(OMITTED, encode({"count": count, "bytes": size, "reason": reason}))

    def finish(self):
        for reason, (count, size) in self.omitted.items():
            if count:
                self.send_omitted(reason, count, size)
        self.omitted.clear()

    def send_result(self, members):
        payload = encode(members)
        with self.lock:
            if self.items >= ITEMS_LIMIT:
                self.omit(len(payload), "max_items")
            elif self.bytes + len(payload) > TOTAL_LIMIT:
                self.omit(len(payload), "total_bytes")
            else:
                self.items += 1
                self.bytes += len(payload)
                self.send(RESULT, payload)


def encode(members):
    return to_json(members).encode(errors="replace")


channel = Channel()


def base64(data):
    known = "binascii" in sys.modules
    import binascii
    if not known:
        del sys.modules["binascii"]
    return binascii.b2a_base64(data, newline=False).decode()


def form_of(mime_type, value):
    """As it stands in a frame; None where it is nothing of the kind."""
    if mime_type in IMAGES:
        return base64(value) if isinstance(value, (bytes, bytearray, memoryview)) else str.__str__(value) if isinstance(value, str) else None
    if mime_type.endswith("json"):
        return value if type(value) is Raw else exact_json(value)
    return str.__str__(value) if isinstance(value, str) else None


def add_form(data, mime_type, value):
    if value is None or mime_type not in KNOWN or mime_type in data:
        return
    try:
        form = form_of(mime_type, value)
    except (NotJson, RecursionError):
        return
    if form is not None and len(form) <= (IMAGE_LIMIT // 3 * 4 if mime_type in IMAGES else TEXT_LIMIT):
        data[mime_type] = form
    elif form is not None:
        channel.omit(len(form), "text_bytes" if mime_type not in IMAGES else "image_bytes")


def call_method(value, name):
    """One that the object's class has; objects that answer to any name are not asked."""
    try:
        if not hasattr(type(value), name):
            return None
        found = getattr(value, name)()
    except Exception:
        return None
    return found[0] if isinstance(found, tuple) and found else found


def add_forms(data, value):
    if type(value) not in (*NUMBERS, str, *CONTAINERS):
        add_own_forms(data, value)
    if "text/plain" not in data:
        data["text/plain"] = short_repr(value)
    if type(value) in (*NUMBERS, str, list, dict):
        add_form(data, "application/json", value)


def add_own_forms(data, value):
    """Those that the object's class offers to notebooks."""
    bundle = call_method(value, "_repr_mimebundle_") if not isinstance(value, type) else None
    for mime_type, form in bundle.items() if isinstance(bundle, dict) else ():
        if isinstance(mime_type, str):
            add_form(data, mime_type, form)
    for name, mime_type in METHODS if not isinstance(value, type) else ():
        if mime_type not in data and not (mime_type == "image/jpeg" and "image/png" in data):  # one picture of an object is enough
            add_form(data, mime_type, call_method(value, name))


def members_of_library(value):
    """Of a result whose object is of a library that a file beside this one knows; None: it is shown as any other."""
    if "matplotlib.figure" in sys.modules and (type(value) in CONTAINERS or type(value).__name__ == "ndarray"):
        return load("figures")["members"](value, "matplotlib")  # of sitecustomize.py
    for kind in type(value).__mro__[:-1]:
        library = str(kind.__module__).partition(".")[0]
        if library in LIBRARIES and library in sys.modules:
            return load(LIBRARIES[library])["members"](value, library)  # of sitecustomize.py
    return None


def rich_members(value):
    if type(value).__module__ == "builtins" and type(value) not in CONTAINERS:
        return {}
    try:
        return members_of_library(value) or {}
    except Exception:  # of another version, or of a program that has its own idea of it
        return {}


def members_of(value, role):
    """Of a result; None: it was shown already."""
    members, data = rich_members(value), {}
    if "is_shown" in members:
        return None
    for mime_type, form in members.pop("data", {}).items():
        add_form(data, mime_type, form)
    if not data:
        add_forms(data, value)
    return {"role": role, "data": data, "type_name": name_of(type(value)), **members}


def show(value, role):
    members = members_of(value, role)
    if members is not None:
        channel.send_result(members)


def rehearse():
    """Python gives a function its fast form once it has been called several times; it has it in the run, then."""
    for _ in range(REHEARSALS):
        encode(members_of(2, "value"))


def display(*objects, raw=False, **_):
    """Shows each object in the richest form that it has. raw: they are dictionaries of MIME types and texts."""
    for value in objects:
        if not channel.is_there():
            print(value)
        elif raw and type(value) is dict:
            data = {}
            for mime_type, form in value.items():
                add_form(data, mime_type, form)
            channel.send_result({"role": "display", "data": data, "type_name": "dict"})
        else:
            show(value, "display")


def message_of(error):
    try:
        return str.__str__(str(error))[:MESSAGE_LIMIT]
    except BaseException:
        return ""


def is_of_the_program(path):
    return not path.startswith(("<frozen ", sys.base_prefix + "/lib/python", sys.prefix + "/lib/python", "/usr/lib/python3/"))


def frames_of(error):
    frames, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_of_the_program(code.co_filename):
            frames.append({"file": code.co_filename, "line": trace.tb_lineno, "function": code.co_name})
            if len(frames) > FRAMES_LIMIT:  # the outermost, and the last ones
                del frames[FRAMES_LIMIT // 2]
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and type(error.filename) is str and type(error.lineno) is int:
        frames.append({"file": error.filename, "line": error.lineno, "function": "<module>"})
    return frames


def tell_exception(error):
    channel.send(EXCEPTION, encode({"name": name_of(type(error)), "value": message_of(error), "frames": frames_of(error)}))


def tell(value, error):
    """Called when the program's last line has been executed or an exception has ended it. None: there is none."""
    if not channel.is_there():
        return
    figures = sys.modules.get("matplotlib.backends.backend_agg")
    for what, say in ((value, lambda: show(value, "value")), (figures, lambda: load("figures")["show_rest"]()),  # of sitecustomize.py
                      (error, lambda: tell_exception(error)), (channel.omitted, channel.finish)):
        try:
            if what is not None:
                say()
        except BaseException:  # results are not worth another end of the program
            pass
