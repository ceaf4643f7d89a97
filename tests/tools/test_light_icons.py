"""Icons come from a small font, and those that nobody foresaw from the theme's."""

import base64
import io
import re
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

from tools.light_icons import THEME, small_fonts

CSS = """@font-face{font-family:I;font-weight:900;src:url(../all.ttf)}
@font-face{font-family:J;font-weight:400;src:url(../letters.ttf)}
.fa-star:before,.fa-favourite:before{content:"\\f005"}
.fa-moon:before{content:"\\f006"}
.fa-late:before{content:"\\f007"}
html{--icon:"\uf00a"}
.plain{content:"a"}
"""


def font(file: Path, *characters: int) -> None:
    """A font whose glyphs are triangles, each wider than the one before."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((9, 0))
    pen.lineTo((9, 9))
    pen.closePath()
    triangle = pen.glyph()
    names = [".notdef", *(f"u{code:04X}" for code in characters)]
    builder = FontBuilder(100, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict(zip(characters, names[1:], strict=True)))
    builder.setupGlyf(dict.fromkeys(names, triangle))
    builder.setupHorizontalMetrics({name: (10 + n, 0) for n, name in enumerate(names)})
    builder.setupHorizontalHeader(ascent=80, descent=-20)
    builder.setupNameTable({"familyName": "I", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(file)


def test_what_a_sheet_draws_is_in_the_small_font_and_no_other_is_there(tmp_path: Path):
    (tmp_path / THEME).parent.mkdir(parents=True)
    (tmp_path / THEME).write_text(CSS)
    font(tmp_path / "all.ttf", 0xF005, 0xF006, 0xF007, 0xF00A)
    font(tmp_path / "letters.ttf", 0x61)
    used = CSS.replace('.fa-moon:before{content:"\\f006"}', ".x{color:#f006aa}")
    css = small_fonts(used, tmp_path)
    assert css.startswith("@font-face{font-family:I;font-weight:900;unicode-range:")
    ranges = re.search(r"unicode-range:([^;]*);", css)[1].lower().split(",")
    drawn = {0xF005, 0xF007, 0xF00A}
    assert {int(code.removeprefix("u+"), 16) for code in ranges} == drawn
    small = base64.b64decode(re.search(r"base64,([^\"]*)\"", css)[1])
    assert set(TTFont(io.BytesIO(small)).getBestCmap()) == drawn
    assert "font-family:J" not in css
