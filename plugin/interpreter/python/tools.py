# SPDX-License-Identifier: Apache-2.0
"""The module "tools" of a program whose run may call tools of the gateway. imports.py asks for its spec when a program imports it; nothing
of it is there before. tool_channel.py carries the calls."""
import sys
from _thread import RLock

MODULE = "tools"
ARGUMENTS_LIMIT = 1 << 20  # bytes
JSON, TEXT, BYTES, CONTENT, ERROR = 1, 2, 3, 4, 5  # forms of an answer
TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict, "null": type(None)}
WEIGHTS = (("name", 4), ("identifier", 4), ("title", 2), ("description", 1))  # of a word that search() finds there
SUGGESTIONS = 3
HAS_ENDED = "the cell has ended, or has no tools"
PLAIN = ("names", "search", "describe", "call")  # functions of the module


class ToolError(Exception):
    """A call of a tool has failed. code says why, in one word; retryable: whether the same call may succeed later."""

    def __init__(self, name, code, message, retryable=False):
        super().__init__(name, code, message, retryable)
        self.name, self.code, self.message, self.retryable = name, code, message, retryable

    def __str__(self):
        return f"{self.name}: {self.message} ({self.code})"


class ToolBytes(bytes):
    """The bytes of an image or another file that a tool has returned. mime_type, uri: what the tool says of them."""

    mime_type, uri = "application/octet-stream", None

    def __repr__(self):
        return f"<{len(self)} bytes, {self.mime_type}>"

    __str__ = __repr__

    def _repr_mimebundle_(self, **_):
        return {self.mime_type: bytes(self)} if self.mime_type in ("image/png", "image/jpeg") else {}


class Omitted:
    """Stands for the value of a parameter that may be left out."""

    def __repr__(self):
        return "..."


OMITTED = Omitted()
ToolError.__module__ = ToolBytes.__module__ = MODULE


class Tools:
    """The run's tools, and the channel to them. Both are opened when they are first needed."""

    def __init__(self):
        self.runner, self.channel, self.entries, self.has_ended = None, None, None, False
        self.opening = RLock()

    def open(self):
        """Has read what the gateway tells of the tools; raises ToolError where it tells nothing."""
        if self.entries is None:
            with self.opening:  # threads of a later cell may come here at the same time
                if self.entries is None:
                    self.read_listing()

    def read_listing(self):
        if self.has_ended:
            raise ToolError(MODULE, "unavailable", HAS_ENDED)
        from json import JSONDecoder, JSONEncoder
        channels = load("tool_channel")  # of sitecustomize.py
        self.ended = channels["Ended"]
        channel = self.channel
        if channel is None:
            channel = self.channel = channels["Channel"](self.runner.RESULTS_FD, self.runner.TOOLS_FD)
            self.runner.results()["channel"].writer = channel.write
        self.decode = JSONDecoder().decode
        self.encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
        try:
            entries = self.decode(channel.listing().decode())
        except (self.ended, ValueError) as error:
            raise ToolError(MODULE, "unavailable", str(error)) from None
        self.by_name = {entry["name"]: entry for entry in entries}
        self.by_identifier = {entry["identifier"]: entry for entry in entries}
        self.functions = {}
        self.entries = entries

    def close(self):
        """The cell of a session has ended, and the next one has other pipes."""
        channel, self.channel, self.entries, self.has_ended = self.channel, None, None, True
        if channel is not None:
            self.runner.results()["channel"].writer = None
            channel.close()

    def open_channel(self, name):
        """A thread may come here as its cell ends."""
        channel = self.channel
        if channel is None:
            raise ToolError(name, "unavailable", HAS_ENDED)
        return channel

    def find(self, name):
        """By its name or its identifier."""
        self.open()
        entry = self.by_name.get(name) or self.by_identifier.get(name)
        if entry is None:
            raise ToolError(name, "unknown_tool", self.unknown(name))
        return entry

    def unknown(self, name):
        near = search(str(name).replace("_", " "))[:SUGGESTIONS]
        return "this run has no such tool" + (f"; it has {', '.join(near)}" if near else "")

    def function(self, identifier, kind):
        """The same object each time."""
        self.open()
        found = self.functions.get((identifier, kind))
        if found is None:
            entry = self.by_identifier.get(identifier)
            if entry is None:
                raise AttributeError(f"module {MODULE!r} has no attribute {identifier!r}: {self.unknown(identifier)}")
            found = self.functions[identifier, kind] = kind(entry)
        return found

    def text_of(self, name, arguments):
        """As it is sent."""
        try:
            text = self.encode(arguments).encode()
        except (TypeError, RecursionError) as error:
            raise TypeError(f"an argument of {name} has no form in JSON: {error}") from None
        except UnicodeEncodeError:
            raise ToolError(name, "invalid_arguments", "a text has half a character (a surrogate)") from None
        except ValueError as error:  # NaN, or a container within itself
            if "ircular" in str(error):
                raise TypeError(f"an argument of {name} has no form in JSON: {error}") from None
            raise ToolError(name, "invalid_arguments", f"JSON has no such number: {error}") from None
        if len(text) > ARGUMENTS_LIMIT:
            raise ToolError(name, "limit_exceeded", f"the arguments have {len(text)} bytes; at most {ARGUMENTS_LIMIT} are allowed")
        return text

    def value_of(self, name, form, data):
        """What the answer says, or raises it."""
        if form == JSON:
            return self.decode(data.decode())
        if form == TEXT:
            return data.decode(errors="replace")
        if form == BYTES:
            return with_type(data[1 + data[0]:], data[1:1 + data[0]].decode(errors="replace"))
        if form == CONTENT:
            return [value_of_block(block) for block in self.decode(data.decode())]
        if form == ERROR:
            error = self.decode(data.decode())
            raise ToolError(name, error["code"], error["message"], bool(error["retryable"]))
        raise ToolError(name, "unavailable", "the gateway has ended before its answer")

    def call(self, name, arguments):
        self.open()
        text = self.text_of(name, arguments)
        try:
            form, data = self.open_channel(name).call(name.encode(), text)
        except self.ended as error:
            raise ToolError(name, "unavailable", str(error)) from None
        return self.value_of(name, form, data)

    async def call_in_loop(self, name, arguments):
        self.open()
        text = self.text_of(name, arguments)
        loop = sys.modules["_asyncio"].get_running_loop() if "_asyncio" in sys.modules else running_loop()
        try:
            form, data = await self.open_channel(name).call_in_loop(loop, name.encode(), text)
        except self.ended as error:
            raise ToolError(name, "unavailable", str(error)) from None
        return self.value_of(name, form, data)


def running_loop():
    from asyncio import get_running_loop
    return get_running_loop()


def with_type(data, mime_type, uri=None):
    value = ToolBytes(data)
    value.mime_type, value.uri = mime_type, uri
    return value


def value_of_block(block):
    if block["type"] == "text":
        return block["text"]
    if "data" not in block:
        return block
    from binascii import a2b_base64
    return with_type(a2b_base64(block["data"]), block.get("mime_type", ToolBytes.mime_type), block.get("uri"))


tools = Tools()


def properties_of(entry):
    """By name: what the schema says of each parameter, and whether it is required."""
    schema = entry.get("input_schema") or {}
    properties, required = schema.get("properties"), schema.get("required")
    required = required if isinstance(required, list) else []
    if not isinstance(properties, dict):
        return {}
    return {name: (about if isinstance(about, dict) else {}, name in required) for name, about in properties.items()}


def kind_of(about):
    """As a text; "": the schema does not say it in a word."""
    kind = about.get("type")
    return " or ".join(kind) if isinstance(kind, list) else kind if isinstance(kind, str) else ""


def document(entry):
    """The text by which Python documents a function."""
    lines = [text.strip() for text in (entry.get("title"), entry.get("description")) if text]
    parts = ["\n\n".join(lines)] if lines else []
    rows = []
    for name, (about, is_required) in properties_of(entry).items():
        kind = ", ".join(filter(None, (kind_of(about), "" if is_required else "optional")))
        choice = f" one of {', '.join(map(repr, about['enum']))}" if isinstance(about.get("enum"), list) else ""
        rows.append(f"    {name}" + (f" ({kind})" if kind else "") + ":" * bool(about.get("description") or choice) +
                    (f" {about['description']}" if about.get("description") else "") + choice)
    if rows:
        parts.append("Parameters:\n" + "\n".join(rows))
    return "\n\n".join(parts) or None


def signature_of(entry):
    """Of a call in Python: parameters that have no name there are passed by **arguments."""
    from inspect import Parameter, Signature
    parameters, has_others = [], not properties_of(entry)
    for name, (about, is_required) in properties_of(entry).items():
        default = Parameter.empty if is_required else about.get("default", OMITTED)
        kind = TYPES.get(about.get("type")) if isinstance(about.get("type"), str) else None
        try:
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind or Parameter.empty))
        except ValueError:
            has_others = True
    if has_others or (entry.get("input_schema") or {}).get("additionalProperties"):
        free = next(name for name in ("arguments", "more_arguments", "_arguments", "__arguments") if name not in properties_of(entry))
        parameters.append(Parameter(free, Parameter.VAR_KEYWORD))
    return Signature(parameters)


class Tool:
    """A function that calls a tool of the gateway."""

    def __init__(self, entry):
        self._entry = entry
        self.__name__ = self.__qualname__ = entry["identifier"]
        self.__module__, self.__doc__ = MODULE, document(entry)

    @property
    def __signature__(self):
        return signature_of(self._entry)

    def __get__(self, instance, owner=None):  # so that help() takes it for a function
        return self

    def __repr__(self):
        return f"<tool {self._entry['name']}>"

    def _refuse_positional(self):
        names = ", ".join(f"{name}=..." for name in properties_of(self._entry)) or "name=..."
        raise TypeError(f"{self.__name__}() takes keyword arguments only: {self.__name__}({names})")

    def __call__(self, /, *positional, **arguments):
        if positional:
            self._refuse_positional()
        return tools.call(self._entry["name"], arguments)


class AwaitedTool(Tool):
    """A function that calls a tool of the gateway, and whose answer is awaited."""

    async def __call__(self, /, *positional, **arguments):
        if positional:
            self._refuse_positional()
        return await tools.call_in_loop(self._entry["name"], arguments)


class Awaited:
    """The tools as functions whose answers are awaited: await tools.aio.NAME(...)."""

    def __getattr__(self, name):
        return tools.function(name, AwaitedTool)

    def __dir__(self):
        tools.open()
        return [*tools.by_identifier, "call"]

    def __repr__(self):
        return "<tools whose answers are awaited>"

    async def call(self, name, arguments=None, /):
        """Calls a tool by its name, with a dictionary of arguments."""
        entry, arguments = tools.find(name), checked(name, arguments)
        return await tools.call_in_loop(entry["name"], arguments)


def checked(name, arguments):
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise TypeError(f"the arguments of {name} are not a dictionary")
    return arguments


def names():
    """The names of the tools that this program may call."""
    tools.open()
    return list(tools.by_name)


def search(words):
    """The names of the tools in whose name, title or description these words are, the best first."""
    tools.open()
    words = [word for word in str(words).lower().split() if word]
    scores = {}
    for name, entry in tools.by_name.items():
        texts = [(str(entry.get(member) or "").lower(), weight) for member, weight in WEIGHTS]
        score = sum(weight for word in words for text, weight in texts if word in text)
        if score or not words:
            scores[name] = score
    return sorted(scores, key=scores.get, reverse=True)  # stable: in the order of the request


def describe(name):
    """What the gateway says of a tool: a dictionary with its schema."""
    return tools.decode(tools.encode(tools.find(name)))


def call(name, arguments=None, /):
    """Calls a tool by its name, with a dictionary of arguments."""
    return tools.call(tools.find(name)["name"], checked(name, arguments))


def get_attribute(name):
    if name == "__all__":
        return [*attributes(), "ToolError", "aio"]
    # Python asks for some that most modules do not have. An identifier of a tool that begins so has one underscore more.
    if name.startswith("__") and name.endswith("__") and not name.startswith("___"):
        raise AttributeError(f"module {MODULE!r} has no attribute {name!r}")
    return tools.function(name, Tool)


def attributes():
    tools.open()
    return list(tools.by_identifier)


class Loader:
    """Of the module."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        try:
            tools.open()
        except ToolError as error:
            raise ImportError(f"the tools of this run are not to be had: {error.message}", name=MODULE) from None
        for name in PLAIN:
            globals()[name].__module__ = MODULE
        own = {name: globals()[name] for name in PLAIN}
        module.__dict__.update(own, ToolError=ToolError, aio=Awaited(), __getattr__=get_attribute,
                               __dir__=lambda: sorted([*own, "ToolError", "aio", *attributes()]))
        module.__doc__ = "Tools of the gateway that this program may call: tools.NAME(parameter=value), or await tools.aio.NAME(...)."


def spec(runner):
    """runner: the class _Runner of either sitecustomize.py, whose run has tools."""
    from _frozen_importlib import ModuleSpec
    tools.runner = runner
    return ModuleSpec(MODULE, Loader, origin="code-execute")


def end():
    """A cell of a session has ended: whatever calls from now on has no tools."""
    tools.close()


def restart():
    """For the next cell of a session that has tools, whose pipes are others."""
    tools.close()
    tools.has_ended = False
