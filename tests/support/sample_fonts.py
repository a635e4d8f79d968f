"""A font that is made up, to draw with letters that others lack."""

from pathlib import Path

import pytest


def font_with(letters: str, path: Path) -> Path:
    """A font that has these letters, each a square."""
    builder = pytest.importorskip("fontTools.fontBuilder").FontBuilder(1000)
    pen = pytest.importorskip("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    for step, point in zip((pen.moveTo, pen.lineTo, pen.lineTo), ((0, 0), (0, 800), (800, 0)), strict=True):
        step(point)
    pen.closePath()
    names = [".notdef", *(f"u{ord(letter):04X}" for letter in letters)]
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict(zip(map(ord, letters), names[1:], strict=True)))
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Sample Han", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path
