# SPDX-License-Identifier: Apache-2.0
"""Pictures of Pillow: one that is a value or is passed to display() or to its own show(), in PNG, or in JPEG where that would be too large.
Runs in the program's own process."""
import io
import sys

results = load("results")  # of sitecustomize.py
channel = results["channel"]

PIXELS = 16e6  # of a picture: a larger one is shown smaller
# Those that PNG lacks, and the nearest that it has.
MODES = {"I": "I;16", "PA": "RGBA", "RGBa": "RGBA", "RGBX": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB"}


def smaller(image):
    width, height = image.size
    factor = (PIXELS / (width * height)) ** 0.5
    return image.resize((max(int(width * factor), 1), max(int(height * factor), 1)))


def jpeg_of(image):
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "JPEG")
    return buffer.getvalue()


def members(value, library):
    """"data" of a result; None: it is no picture, or one that cannot be written."""
    if not isinstance(value, sys.modules["PIL.Image"].Image) or 0 in value.size:
        return None
    width, height = value.size
    image = smaller(value) if width * height > PIXELS else value
    image = image.convert(MODES[image.mode]) if image.mode in MODES else image
    data = {"text/plain": results["repr_of"](value)}
    png = image._repr_png_()
    if png is not None and len(png) > results["IMAGE_LIMIT"]:
        return {"data": {"image/jpeg": jpeg_of(image), **data}}
    return {"data": {"image/png": png, **data}} if png else None


def install(viewers):
    """viewers: PIL.ImageShow. A sandbox has none of its programs; what the program registers later goes first."""
    class Viewer(viewers.Viewer):
        def show(self, image, **_):
            if channel.is_there():
                results["show"](image, "display")
            return channel.is_there()

    viewers.register(Viewer(), 0)
