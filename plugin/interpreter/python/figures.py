# SPDX-License-Identifier: Apache-2.0
"""Pictures of matplotlib's figures: pyplot.show() displays them, and so does the program's end with those that nobody has seen. Loaded
when the program imports matplotlib's backend Agg, which it uses where there is no screen; another backend's show() is that backend's."""
import io
import os
import sys
from _weakref import ref

results = load("results")  # of sitecustomize.py
channel = results["channel"]

PIXELS = 16e6  # of a picture: a larger one is drawn with fewer dots
SEEN, SAVED = "seen", "saved"
PARTS = 16  # of a list in which a part of a figure is looked for
known = {}  # id of a figure: a weak reference, and what is known of it


def note(figure, what):
    for number in [number for number, (reference, _) in known.items() if reference() is None]:
        del known[number]
    known[id(figure)] = ref(figure), what


def is_known(figure, *what):
    """As it is now: a change since then makes another of it."""
    reference, why = known.get(id(figure), (None, None))
    return reference is not None and reference() is figure and why in what and not figure.stale


def is_empty(figure):
    return not (figure.axes or figure.texts or figure.images or figure.lines or figure.patches)


def open_figures():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()] if helpers else []


def draw(figure):
    width, height = figure.get_size_inches()
    dots = min(figure.dpi, (PIXELS / max(width * height, 1e-9)) ** 0.5)
    buffer = io.BytesIO()
    figure.canvas.print_figure(buffer, format="png", dpi=dots)
    return buffer.getvalue()


def members_of(figure):
    """Of a result; it counts as seen from now on."""
    members = {"data": {"image/png": draw(figure), "text/plain": repr(figure)}}
    try:
        members.update(load("charts")["members"](figure))  # of sitecustomize.py
    except Exception:  # artists that are not what they are called
        pass
    figure.stale = False
    note(figure, SEEN)
    return members


def figure_of(value, parts=PARTS):
    """The figure that an object is, or is a part of, or that is in a list that a function of matplotlib has returned."""
    matplotlib = sys.modules["matplotlib.figure"]
    if isinstance(value, matplotlib.Figure):
        return value
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray" and value.dtype == object:
        items = value[:PARTS] if not hasattr(value, "ravel") else value.ravel()[:PARTS].tolist()
    elif type(value).__name__ == "PieContainer":
        items = value.wedges[:1]
    elif type(value) is dict:
        items = list(value.values())[:PARTS]
    else:
        is_part = hasattr(value, "figure") and type(value).__module__.partition(".")[0] in ("matplotlib", "seaborn", "pandas", "mpl_toolkits")
        is_part = is_part or isinstance(value, sys.modules["matplotlib.artist"].Artist)
        return owner(value.figure, matplotlib.Figure) if is_part else None
    for item in items if parts else ():
        figure = figure_of(item, parts // 4)
        if figure is not None:
            return figure
    return None


def owner(figure, kind):
    """A figure may be within another one."""
    for _ in range(8):
        if figure is None or isinstance(figure, kind):
            return figure
        figure = getattr(figure, "figure", None)
    return None


def members(value, library):
    """Of a result; None: the object has no figure. "is_shown": the figure has been displayed as it is."""
    figure = figure_of(value)
    if figure is None:
        return None
    return {"is_shown": True} if is_known(figure, SEEN) else members_of(figure)


def display(figure):
    if channel.items >= results["ITEMS_LIMIT"]:
        channel.omit(0, "max_items")
    else:
        results["show"](figure, "display")


def show(*_, **__):
    """pyplot.show(): the figures are gone then, as they are when a window is closed."""
    if channel.is_there():
        for figure in open_figures():
            if not is_empty(figure):
                display(figure)
        sys.modules["matplotlib._pylab_helpers"].Gcf.destroy_all()


def show_rest():
    """Those that are open at the program's end. What it has saved as a picture of its own is among its files."""
    for figure in open_figures():
        if not is_empty(figure) and not is_known(figure, SEEN, SAVED):
            display(figure)


def install(backend):
    """backend: matplotlib.backends.backend_agg, just imported."""
    class FigureCanvas(backend.FigureCanvasAgg):
        def print_figure(self, filename, *arguments, **options):
            result = super().print_figure(filename, *arguments, **options)
            if isinstance(filename, (str, os.PathLike)) and os.path.splitext(filename)[1].lower() in ("", ".png", ".jpg", ".jpeg"):
                self.figure.stale = False
                note(self.figure, SEEN if is_known(self.figure, SEEN) else SAVED)
            return result

    backend.FigureCanvas, backend.show = FigureCanvas, show
    if hasattr(backend, "_BackendAgg"):
        backend._BackendAgg.FigureCanvas = FigureCanvas
