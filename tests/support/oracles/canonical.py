# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON (RFC 8785), written from the RFC alone and one character at a time: the second opinion on the plugin's."""

SHORT = {0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r", 0x22: '\\"', 0x5C: "\\\\"}


def canonical(value):
    """The UTF-8 bytes of the value. Integers as JavaScript can hold them; no other numbers: the plugin writes none."""
    return write(value).encode("utf-8")


def write(value):
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(map(write_character, value)) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=utf16_units)
        return "{" + ",".join(f"{write(name)}:{write(value[name])}" for name in names) + "}"
    raise TypeError(type(value))


def write_character(character):
    """Section 3.2.2.2: the seven short escapes, \\u00xx in lower case for other controls, and all else as it is."""
    point = ord(character)
    if 0xD800 <= point <= 0xDFFF:
        raise ValueError("a lone surrogate is no text")
    if point in SHORT:
        return SHORT[point]
    return f"\\u{point:04x}" if point < 0x20 else character


def utf16_units(name):
    """Section 3.2.3: names are sorted by their UTF-16 code units, so that U+1F600 stands before U+FB33."""
    units = []
    for point in map(ord, name):
        if point < 0x10000:
            units.append(point)
        else:
            units += [0xD800 + ((point - 0x10000) >> 10), 0xDC00 + ((point - 0x10000) & 0x3FF)]
    return units
