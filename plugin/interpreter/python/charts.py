# SPDX-License-Identifier: Apache-2.0
"""The data of matplotlib's figures, in E2B's types of charts (docs/abi.md): what each axes holds is told by its artists, after they are
drawn. Bounded: of long lines only some points are told, with the least and greatest of each stretch. Runs in the program's own process."""
import sys

results = load("results")  # of sitecustomize.py
to_json, encode_text, Raw, NotJson = results["to_json"], results["encode_text"], results["Raw"], results["NotJson"]

AXES, ELEMENTS, POINTS, ALL_POINTS, BARS, TICKS, TEXT = 32, 100, 1000, 8000, 500, 64, 200
CLOSE = 1e-6  # of a coordinate to another


def text_of(text):
    return str.__str__(str(text))[:TEXT]


def label_of(artist):
    """matplotlib begins with an underscore what nobody has named."""
    label = text_of(artist.get_label())
    return "" if label.startswith("_") else label


def unit_of(label):
    """What is in brackets at the end; None: there are none."""
    label = label.strip()
    for begin, end in "()", "[]":
        if label.endswith(end) and begin in label:
            return label[label.rindex(begin) + 1:-1].strip() or None
    return None


def number_text(value):
    return float.__repr__(value) if value - value == 0 else "null"


class Axis:
    """How the numbers of an axis are to be said."""

    def __init__(self, axis):
        self.axis = axis
        converter = type(axis.get_converter() if hasattr(axis, "get_converter") else getattr(axis, "converter", None)).__name__
        self.is_period = "Period" in converter or "TimeSeries" in type(axis.get_major_locator()).__name__
        self.is_time = self.is_period or "Date" in converter
        self.is_category = "Category" in converter
        self.is_labelled = self.is_category or type(axis.get_major_locator()).__name__ == "FixedLocator"
        self.scale = "datetime" if self.is_time else "categorical" if self.is_category else str(axis.get_scale())
        self.label = text_of(axis.get_label_text() if hasattr(axis, "get_label_text") else axis.get_label().get_text())
        low, high = sorted(axis.get_view_interval())
        places = list(axis.get_majorticklocs())[:10 * TICKS]
        texts = axis.get_major_formatter().format_ticks(places)
        self.ticks = [(float(place), text_of(text)) for place, text in zip(places, texts) if low - CLOSE <= place <= high + CLOSE][:TICKS]

    def say(self, values):
        """JSON of each number of an array."""
        if self.is_time:
            return self.say_times(values)
        if self.is_category:
            names = {number: name for name, number in getattr(self.axis.units, "_mapping", {}).items()}
            return [encode_text(text_of(names[value])) if value in names else number_text(value) for value in values.tolist()]
        is_known = sys.modules["numpy"].isfinite(values).all()
        return list(map(float.__repr__ if is_known else number_text, values.tolist()))

    def say_times(self, values):
        numpy = sys.modules["numpy"]
        if self.is_period:
            pandas = sys.modules["pandas"]
            return [encode_text(pandas.Period(ordinal=int(value), freq=self.axis.freq).to_timestamp().isoformat()) if value == value else "null"
                    for value in values.tolist()]
        epoch = numpy.datetime64(sys.modules["matplotlib.dates"].get_epoch(), "us")
        is_known = numpy.isfinite(values)
        times = epoch + numpy.round(numpy.where(is_known, values, 0) * 86400e6).astype("timedelta64[us]")
        unit = "us" if (times.astype("int64") % 1000000).any() else "s"
        return [f'"{time}"' if known else "null" for time, known in zip(numpy.datetime_as_string(times, unit=unit), is_known.tolist())]

    def name(self, place):
        """Of a bar or box there: the tick's, where ticks have names."""
        if self.is_labelled and self.ticks:
            nearest, text = min(self.ticks, key=lambda tick: abs(tick[0] - place))
            places = [tick for tick, _ in self.ticks]
            room = min([abs(b - a) for a, b in zip(places, places[1:])] or [1]) / 2
            if abs(nearest - place) <= room + CLOSE and text:
                return text
        if self.is_time:
            return self.say(sys.modules["numpy"].array([float(place)]))[0].strip('"')
        return f"{place:.6g}"

    def members(self, which):
        values = sys.modules["numpy"].array([place for place, _ in self.ticks], dtype=float)
        return {f"{which}_ticks": Raw("[" + ",".join(self.say(values)) + "]"), f"{which}_tick_labels": [text for _, text in self.ticks],
                f"{which}_scale": self.scale}


class Axes:
    """An axes of a figure, with its artists by what they show."""

    def __init__(self, axes, points):
        self.axes, self.points = axes, points
        self.x, self.y = Axis(axes.xaxis), Axis(axes.yaxis)
        self.bars = [container for container in axes.containers if type(container).__name__ == "BarContainer" and container.patches]
        caps = {id(cap) for container in axes.containers if type(container).__name__ == "ErrorbarContainer" for cap in container[1] or ()}
        errors = [bar.errorbar for bar in self.bars if bar.errorbar is not None]
        caps |= {id(line) for error in errors for line in (error[0], *(error[1] or ())) if line is not None}
        self.lines = [line for line in axes.lines if id(line) not in caps and line.get_visible() and len(line.get_xydata())
                      and line.get_transform().contains_branch(axes.transData)]
        if any("PolyCollection" in type(area).__name__ for area in axes.collections) and all(map(is_upright, self.lines)):
            self.lines = []  # of violins: they are within the areas
        self.dots = [dots for dots in axes.collections if type(dots).__name__ == "PathCollection" and dots.get_visible() and len(dots.get_offsets())]
        self.wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]

    def chart(self, kind, elements, total, **more):
        texts = {"title": text_of(self.axes.get_title()), "x_label": self.x.label, "y_label": self.y.label,
                 "x_unit": unit_of(self.x.label), "y_unit": unit_of(self.y.label)}
        return {"type": kind, **texts, **more, "elements": elements, **({"total_elements": total} if len(elements) < total else {})}

    def charts(self):
        if self.wedges:
            return [{"type": "pie", "title": text_of(self.axes.get_title()), "elements": [self.wedge(wedge) for wedge in self.wedges[:ELEMENTS]]}]
        boxes = self.boxes()
        if boxes:
            return [boxes]
        charts = [self.bar_chart()] if self.bars else []
        lines = [line for line in self.lines if not self.is_error(line)] if self.bars else self.lines
        strokes = [line for line in lines if line.get_linestyle() not in ("None", "", " ")]
        marks = [line for line in lines if line.get_linestyle() in ("None", "", " ")]
        if self.dots or marks:
            charts.append(self.point_chart("scatter", [*self.dots, *marks]))
        if strokes:
            charts.append(self.point_chart("line", strokes))
        return charts

    def is_error(self, line):
        """An error bar that a library has drawn over a bar by itself."""
        if label_of(line):
            return False
        patch, places = self.bars[0].patches[0], line.get_xydata()
        which, width = (0, patch.get_width()) if self.orientation() == "vertical" else (1, patch.get_height())
        extent = places[:, which].max() - places[:, which].min()
        return not extent > abs(width)  # nor where it has no point

    def orientation(self):
        return getattr(self.bars[0], "orientation", None) or "vertical"

    def point_chart(self, kind, artists):
        limit = max(10, min(POINTS, self.points // min(len(artists), ELEMENTS)))
        elements = [self.element(artist, limit) for artist in artists[:ELEMENTS]]
        return self.chart(kind, elements, len(artists), **self.x.members("x"), **self.y.members("y"))

    def element(self, artist, limit):
        numpy = sys.modules["numpy"]
        places = artist.get_offsets() if hasattr(artist, "get_offsets") else artist.get_xydata()
        places = numpy.ma.filled(numpy.ma.asarray(places, dtype=float), numpy.nan)
        total = len(places)
        if total > limit:
            places = places[sampled(numpy, places[:, 1], limit)]
        points = ",".join([f"[{x},{y}]" for x, y in zip(self.x.say(places[:, 0]), self.y.say(places[:, 1]))])
        return {"label": label_of(artist), "points": Raw(f"[{points}]"), **({"sampled_from": total} if total > limit else {})}

    def bar_chart(self):
        orientation = self.orientation()
        elements = []
        for bars in self.bars:
            group = label_of(bars)
            extents = [(bar.get_x(), bar.get_width(), bar.get_height()) if orientation == "vertical" else
                       (bar.get_y(), bar.get_height(), bar.get_width()) for bar in bars.patches[:BARS + 1]]
            named = (self.x if orientation == "vertical" else self.y)
            touching = len(extents) > 1 and not named.is_labelled and not named.is_time and all(
                abs(a[0] + a[1] - b[0]) <= CLOSE * abs(a[1]) + 1e-12 for a, b in zip(extents, extents[1:]))
            for begin, width, value in extents:
                name = f"{begin:.6g} - {begin + width:.6g}" if touching else named.name(begin + width / 2)
                elements.append({"label": name, "group": group, "value": Raw(number_text(float(value)))})
        return self.chart("bar", elements[:BARS], sum(len(bars.patches) for bars in self.bars), orientation=orientation)

    def wedge(self, wedge):
        numpy = sys.modules["numpy"]
        begin, end = wedge.theta1, wedge.theta2
        inside, outside = "", ""
        for text in self.axes.texts[:4 * ELEMENTS]:
            x, y = (float(place) for place in text.get_position())
            x, y = x - wedge.center[0], y - wedge.center[1]
            angle = (numpy.degrees(numpy.arctan2(y, x)) - min(begin, end)) % 360
            if abs(angle - abs(end - begin) / 2) > 0.01:
                continue
            if numpy.hypot(x, y) < wedge.r:
                inside = inside or text_of(text.get_text())
            else:
                outside = outside or text_of(text.get_text())
        return {"label": label_of(wedge) or outside, "angle": Raw(number_text(float(abs(end - begin)))), "radius": Raw(number_text(float(wedge.r))),
                "autopct": inside or None}

    def boxes(self):
        """A box has a median across it, and whiskers that begin at its ends. The direction in which more boxes are such is theirs."""
        shapes = [line.get_xydata() for line in self.lines[:8 * ELEMENTS]]
        frames = [patch.get_path().vertices for patch in self.axes.patches[:ELEMENTS] if type(patch).__name__ == "PathPatch"]
        frames += [shape for shape in shapes if len(shape) in (5, 11) and abs(shape[0] - shape[-1]).max() <= CLOSE]
        found = [[box for box in (box_of(frame, shapes, along) for frame in frames[:ELEMENTS]) if box] for along in (1, 0)]
        if not frames or len(frames) > max(map(len, found)):
            return None
        whiskers = [sum(box["whiskers"] for box in boxes) for boxes in found]
        along = 1 if (len(found[0]), whiskers[0]) >= (len(found[1]), whiskers[1]) else 0
        named = self.x if along else self.y
        elements = [{"label": named.name(box["place"]), **{name: Raw(number_text(float(box[name]))) for name in
                     ("min", "first_quartile", "median", "third_quartile", "max")},
                     "outliers": Raw("[" + ",".join(map(number_text, box["outliers"])) + "]")} for box in found[0 if along else 1]]
        return self.chart("box_and_whisker", elements, len(elements), orientation="vertical" if along else "horizontal")


def box_of(frame, shapes, along):
    """The numbers of a box, read in the direction y (1) or x (0); None: it is no box of that direction."""
    across = 1 - along
    low, high = (frame[0, along], frame[5, along]) if len(frame) > 10 else (frame[:, along].min(), frame[:, along].max())  # notched, or not
    left, right = frame[:, across].min(), frame[:, across].max()
    place, eps = (left + right) / 2, CLOSE * max(1, abs(right - left))
    box = {"place": place, "first_quartile": low, "third_quartile": high, "min": low, "max": high, "median": None, "outliers": [], "whiskers": 0}
    for shape in shapes:
        values, places = shape[:, along], shape[:, across]
        if len(shape) == 2 and abs(values[0] - values[1]) <= CLOSE and low <= values[0] <= high and abs(places.sum() / 2 - place) <= eps \
                and 2 * abs(places[0] - places[1]) >= abs(right - left) - eps:
            if box["median"] is None or abs(places[0] - places[1]) > box["width"]:
                box["median"], box["width"] = values[0], abs(places[0] - places[1])
        elif abs(places - place).max() > eps:
            continue
        elif len(shape) == 2 and values.min() >= high - CLOSE and abs(values.min() - high) <= CLOSE * max(1, abs(high)):
            box["max"], box["whiskers"] = max(box["max"], values.max()), box["whiskers"] + 1
        elif len(shape) == 2 and values.max() <= low + CLOSE and abs(values.max() - low) <= CLOSE * max(1, abs(low)):
            box["min"], box["whiskers"] = min(box["min"], values.min()), box["whiskers"] + 1
        elif ((values > high) | (values < low)).all():
            box["outliers"] += values[:POINTS].tolist()
    return box if box["median"] is not None else None


def is_upright(line):
    """Or level: it says nothing of its other direction."""
    places = line.get_xydata()
    return (places.max(axis=0) <= places.min(axis=0) + CLOSE).any()


def sampled(numpy, values, limit):
    """Places of an array, in their order: the least and the greatest of each of as many stretches."""
    size = -(-len(values) // (limit // 2))
    whole = len(values) // size * size
    stretches = values[:whole].reshape(-1, size)
    begins = numpy.arange(0, whole, size)
    least = numpy.where(numpy.isnan(stretches), numpy.inf, stretches).argmin(axis=1)
    most = numpy.where(numpy.isnan(stretches), -numpy.inf, stretches).argmax(axis=1)
    return numpy.unique(numpy.concatenate([begins + least, begins + most, [0, len(values) - 1]]))


def described(chart, figure):
    """A line for those who do not see the picture."""
    kind = chart["type"].replace("_", " ")
    if chart["type"] == "superchart":
        kinds = ", ".join(part["type"].replace("_", " ") for part in chart["elements"][:8])
        return text_of(f"{len(chart['elements'])} charts ({kinds})" + (f": {chart['title']}" if chart["title"] else ""))
    title = f": {chart['title']}" if chart["title"] else ""
    labels = [label for label in (chart.get("y_label"), chart.get("x_label")) if label]
    count, one = len(chart["elements"]), {"bar": "bar", "pie": "part", "box_and_whisker": "box"}.get(chart["type"], "series")
    many = one if one == "series" else "boxes" if one == "box" else one + "s"
    return f"{kind} chart{title}{' (' if labels else ''}{' over '.join(labels)}{')' if labels else ''}, {count} {one if count == 1 else many}"


def is_plain(axes):
    return axes.get_visible() and getattr(axes, "name", "") == "rectilinear" and axes.get_label() != "<colorbar>"


def members(figure):
    """"chart" and "alt" of a figure that has been drawn; nothing where its artists are no chart of ours."""
    shown = [axes for axes in figure.axes[:AXES] if is_plain(axes)]
    charts = [chart for axes in shown for chart in Axes(axes, ALL_POINTS // len(shown)).charts()]
    if not charts:
        return {}
    chart = charts[0]
    if len(charts) > 1:
        title = getattr(figure, "_suptitle", None)
        chart = {"type": "superchart", "title": text_of(title.get_text()) if title else "", "elements": charts}
    return {"chart": Raw(to_json(chart)), "alt": described(chart, figure)}
