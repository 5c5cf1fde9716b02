# SPDX-License-Identifier: Apache-2.0
"""Specifications of charts of plotly and altair, which a front end draws: the library's own, as JSON within the limits of a result. A chart
of either that is shown is a result, as its value is; one that was shown is not shown again. Runs in the program's own process."""
import os
import sys

results = load("results")  # of sitecustomize.py
channel, encode_text, Raw, NotJson, Full = (results[name] for name in ("channel", "encode_text", "Raw", "NotJson", "Full"))

VALUES = 60000  # in all arrays and objects of a specification; the gateway reads no more than 65536 of a result
ROWS = VALUES // 2  # of a data set: a row is an object with one value at least
DEPTH = 40
COPIED = 8 * results["TEXT_LIMIT"]  # bytes of arrays; plotly copies them before it makes the shortest numbers of them
TITLE, TRACES = 200, 8  # of a text
LARGEST = sys.float_info.max
PLOTLY, VEGA_LITE = "application/vnd.plotly.v1+json", "application/vnd.vegalite.v5+json"
shown = set()  # hashes of specifications


class Specification:
    """A value as JSON: what its reader makes of it is what the library's own JSON says, but that no number is none."""

    def __init__(self):
        self.parts, self.room, self.values = [], results["TEXT_LIMIT"], VALUES

    def add(self, text):
        self.parts.append(text)
        self.room -= len(text)
        if self.room < 0:
            raise Full

    def count(self, length):
        """Of an array or object, before any of its values is written."""
        self.values -= max(length, 1)
        if self.values < 0:
            raise Full

    def take(self, value, depth=DEPTH):
        if depth == 0:
            raise NotJson
        if isinstance(value, str):
            self.add(encode_text(str.__str__(value)))
        elif value is None or isinstance(value, (bool, int, float)):
            self.add(number_text(value))
        elif isinstance(value, dict):
            self.take_object(value, depth)
        elif isinstance(value, (list, tuple)):
            self.take_array(value, depth)
        elif hasattr(type(value), "tolist"):
            self.take_of_library(value, depth)
        else:
            self.take_single(value, depth)

    def take_object(self, value, depth):
        self.count(len(value))
        separator = "{"
        for key, item in value.items():
            if not isinstance(key, (str, int)):
                raise NotJson
            self.add(f"{separator}{encode_text(str(key))}:")
            self.take(item, depth - 1)
            separator = ","
        self.add("}" if value else "{}")

    def take_array(self, value, depth):
        self.count(len(value))
        separator = "["
        for item in value:
            self.add(separator)
            self.take(item, depth - 1)
            separator = ","
        self.add("]" if len(value) else "[]")

    def take_of_library(self, value, depth):
        """Of numpy or pandas: an array, or a single value."""
        if getattr(value, "size", 1) > self.values:
            raise Full
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if kind == "M":
            texts = sys.modules["numpy"].datetime_as_string(value).tolist()
            self.take(without_missing(texts), depth)
        else:
            items = value.tolist()
            self.take(items if type(items) is not type(value) else None, depth)

    def take_single(self, value, depth):
        kind = type(value)
        if kind.__name__ in ("NaTType", "NAType", "MaskedConstant"):
            self.add("null")
        elif hasattr(kind, "isoformat"):
            self.add(encode_text(value.isoformat()))
        elif kind.__name__ == "Decimal":
            self.add(number_text(float(value)))
        elif hasattr(kind, "to_plotly_json"):
            self.take(value.to_plotly_json(), depth - 1)
        else:
            raise NotJson


def number_text(value):
    """What no reader's number can be is null; large integers are rounded here, as readers round them."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) < results["EXACT_INTEGER"]:
        return int.__repr__(int(value))
    return float.__repr__(float(value)) if abs(value) <= LARGEST else "null"


def without_missing(texts):
    if isinstance(texts, str):
        return None if texts == "NaT" else texts
    return [without_missing(text) for text in texts]


def text_of(value):
    """Raises Full or NotJson."""
    specification = Specification()
    specification.take(value)
    return Raw("".join(specification.parts))


def copied_bytes(value):
    """How much plotly would copy of it, at least."""
    if isinstance(value, dict):
        return sum(map(copied_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        return 8 * len(value) + (sum(map(copied_bytes, value)) if len(value) <= VALUES else COPIED)
    return getattr(value, "nbytes", 0)


def text_of_figure(figure):
    """With arrays as lists; where they are too long, as plotly packs them, which it has done since its version 6."""
    frames = [frame._props for frame in figure._frame_objs]
    parts = {"data": figure._data, "layout": figure._layout, **({"frames": frames} if frames else {})}
    try:
        return text_of(parts)
    except Full:
        if copied_bytes(parts) > COPIED:
            raise
        return text_of(figure.to_dict())


def named(kind, name):
    return f"{kind} {str(name)[:TITLE]!r}" if name else kind


def figure_name(figure):
    """Its repr() has all of the data."""
    parts = [named(trace.get("type", "scatter"), trace.get("name")) for trace in figure._data[:TRACES]]
    if len(figure._data) > TRACES:
        parts.append(f"... ({len(figure._data)} in all)")
    return f"{named('plotly figure', (figure._layout.get('title') or {}).get('text'))}: {', '.join(parts)}"


def cells(chart):
    """Of the frames that altair would make values of."""
    shape, parts = getattr(getattr(chart, "data", None), "shape", None), [getattr(chart, "spec", None)]
    for name in "layer", "hconcat", "vconcat", "concat":
        found = getattr(chart, name, None)
        parts += found if isinstance(found, list) else ()
    own = shape[0] * (shape[1] + 1) if type(shape) is tuple and len(shape) == 2 else 0
    return own + sum(cells(part) for part in parts if isinstance(part, sys.modules["altair"].TopLevelMixin))


def text_of_chart(chart):
    """altair has a limit of rows of its own, for notebooks; here a result's is in its place."""
    altair = sys.modules["altair"]
    if altair.data_transformers.active != "default":
        return text_of(chart.to_dict())
    if cells(chart) > VALUES:
        raise Full
    with altair.data_transformers.enable("default", max_rows=ROWS):
        try:
            return text_of(chart.to_dict())
        except altair.MaxRowsError:
            raise Full from None


def result_of(mime_type, name, make, value):
    try:
        text = make(value)
    except Full:
        channel.omit(results["TEXT_LIMIT"], "text_bytes")
        return {"data": {"text/plain": name}}
    except Exception:  # a chart that is not finished, or data that is no JSON
        channel.omit(0, "invalid")
        return {"data": {"text/plain": name}}
    if hash(text) in shown:
        return {"is_shown": True}
    if len(shown) < results["ITEMS_LIMIT"]:
        shown.add(hash(text))
    return {"data": {mime_type: text, "text/plain": name}}


def members(value, library):
    """"data" of a result; None: the object is no chart. "is_shown": it was shown as it is."""
    if library == "altair":
        is_chart = isinstance(value, sys.modules["altair"].TopLevelMixin)
        return result_of(VEGA_LITE, results["repr_of"](value)[:TITLE], text_of_chart, value) if is_chart else None
    base = sys.modules.get("plotly.basedatatypes")
    is_figure = base is not None and isinstance(value, base.BaseFigure)
    return result_of(PLOTLY, figure_name(value), text_of_figure, value) if is_figure else None


def is_unchosen(renderers):
    """Nobody has named one of plotly's renderers; of itself it would open a browser, or show nothing."""
    return renderers.default in (None, "", "browser") and not os.environ.get("PLOTLY_RENDERER")


def figure_of(value):
    """plotly takes dictionaries as well."""
    is_figure = isinstance(value, sys.modules["plotly.basedatatypes"].BaseFigure)
    return value if is_figure else sys.modules["plotly.graph_objs"].Figure(value)


def replace(owner, name, wanted, chart_of=lambda chart: chart):
    """owner's function shows its first argument as a result, where it is wanted so."""
    function = getattr(owner, name)

    def show(chart, *arguments, **options):
        if not channel.is_there() or not wanted(*arguments, **options):
            return function(chart, *arguments, **options)
        results["show"](chart_of(chart), "display")

    for attribute in "__module__", "__name__", "__qualname__", "__doc__":
        setattr(show, attribute, getattr(function, attribute))
    show.__wrapped__ = function
    setattr(owner, name, show)


def install_plotly(module):
    """module: plotly.io._renderers. Whoever names a renderer gets that one."""
    replace(module, "show", lambda renderer=None, *_, **__: renderer is None and is_unchosen(module.renderers), figure_of)


def install_altair(module):
    """module: altair's with that of its charts. Its other renderers are for notebooks, or are the program's choice."""
    replace(module.TopLevelMixin, "show", lambda: module.renderers.active == "default")


def install(module):
    """Of a library that has just been imported."""
    (install_plotly if module.__name__.startswith("plotly.") else install_altair)(module)
