# SPDX-License-Identifier: Apache-2.0
"""Pictures of the real Pillow, as our runner shows them: in an interpreter that has it, with a pipe."""
import base64
import io
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from packages import library_python

library_python.become_one_with("PIL")
from PIL import Image, ImageShow
from languages.shown import OMITTED, RESULT, Shown

VIEWERS = list(ImageShow._viewers)


class Program(Shown):
    """One that has just imported Pillow's viewers."""

    def __init__(self, viewers=VIEWERS):
        super().__init__()
        ImageShow._viewers[:] = viewers
        self.load("images")["install"](ImageShow)

    def during_call(self, function):
        self.names["call"] = function
        return self.during("call")


def shown(frame, mime_type="image/png"):
    return Image.open(io.BytesIO(base64.b64decode(frame["data"][mime_type])))


def test_a_picture_is_its_pixels():
    picture = Image.new("RGB", (3, 2), "red")
    picture.putpixel((1, 1), (1, 2, 3))
    frame = Program().value(picture)
    tap.equal(sorted(frame["data"]), ["image/png", "text/plain"])
    tap.equal((shown(frame).size, shown(frame).tobytes()), ((3, 2), picture.tobytes()))
    tap.contains(frame["data"]["text/plain"], "mode=RGB size=3x2")


def test_every_mode_has_a_picture():
    for mode in "1", "L", "P", "LA", "PA", "RGB", "RGBA", "RGBa", "RGBX", "I;16", "I", "CMYK", "YCbCr", "HSV":
        tap.equal(shown(Program().value(Image.new(mode, (3, 2)))).size, (3, 2), mode)


def test_what_png_cannot_say_is_a_text():
    for picture in Image.new("F", (3, 2)), Image.new("RGB", (0, 2)):
        tap.equal(list(Program().value(picture)["data"]), ["text/plain"], picture)


def test_a_picture_of_a_file_is_one():
    file = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(file, "JPEG")
    frame = Program().value(Image.open(file))
    tap.equal((shown(frame).size, frame["type_name"]), ((3, 2), "PIL.JpegImagePlugin.JpegImageFile"))


def test_a_large_one_is_shown_smaller():
    for mode in "RGB", "P", "1":
        width, height = shown(Program().value(Image.new(mode, (10000, 4000)))).size
        tap.true(15e6 < width * height <= 16e6 and abs(width / height - 2.5) < 0.01, (mode, width, height))


def test_one_that_png_cannot_compress_is_a_jpeg():
    noise = Image.frombytes("RGB", (2000, 2000), os.urandom(12000000))
    frames = Program().tell(noise)
    tap.equal([kind for kind, _ in frames if kind == OMITTED], [])
    [frame] = [frame for kind, frame in frames if kind == RESULT]
    tap.equal((sorted(frame["data"]), shown(frame, "image/jpeg").size), (["image/jpeg", "text/plain"], (2000, 2000)))


class Own(ImageShow.Viewer):
    def __init__(self):
        self.seen = []

    def show(self, image, **_):
        self.seen.append(image.size)
        return True


def test_show_is_a_display():
    picture = Image.new("RGB", (3, 2), "red")
    for viewers in [], [Own()]:
        frames = Program(viewers).during_call(picture.show)
        tap.equal([(frame["role"], "image/png" in frame["data"]) for _, frame in frames], [("display", True)])
        tap.equal([viewer.seen for viewer in viewers], [[] for _ in viewers], "a viewer of the machine")


def test_a_viewer_of_the_program_goes_first():
    program, own = Program(), Own()
    ImageShow.register(own, 0)
    tap.equal(program.during_call(Image.new("RGB", (3, 2)).show), [])
    tap.equal(own.seen, [(3, 2)])


def test_without_results_nothing_is_shown():
    program = Program()
    program.names["channel"].pid = -1
    tap.equal(program.during_call(Image.new("RGB", (3, 2)).show), [])


tap.run(globals())
