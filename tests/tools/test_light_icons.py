"""Icons come from a small font, and those that nobody foresaw from the theme's."""

import base64
import io
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

from tools.light_icons import SHEET, THEME, write_icons
from tools.subset_font import subset_font

CSS = """@font-face{font-family:I;font-weight:900;src:url(../all.ttf)}
@font-face{font-family:J;font-weight:400;src:url(../letters.ttf)}
.fa-star:before,.fa-favourite:before{content:"\\f005"}
.fa-moon:before{content:"\\f006"}
.fa-late:before{content:"\\f007"}
.title::after{content:"\\f008"}
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


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A built book of two pages and a script."""
    static = tmp_path / "_static"
    (static / THEME).parent.mkdir(parents=True)
    (static / THEME).write_text(CSS)
    font(static / "all.ttf", 0xF005, 0xF006, 0xF007, 0xF008, 0xF009, 0xF00A)
    font(static / "letters.ttf", 0x61)
    (static / "own.css").write_text(
        '.box::before { content: "\\F009"; color: #f006aa }'
    )
    (static / "page.js").write_text("icon.classList.add('fa-late')")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "index.html").write_text("<p>none</p>")
    (tmp_path / "chapters" / "a.html").write_text('<i class="fa-solid fa-star"></i>')
    return tmp_path


def written(site: Path) -> str:
    app = SimpleNamespace(outdir=str(site), builder=SimpleNamespace(format="html"))
    write_icons(app, None)
    return (site / "_static" / SHEET).read_text()


def test_what_pages_scripts_and_styles_draw_is_in_the_small_font(site: Path):
    css = written(site)
    assert css.startswith("@font-face{font-family:I;font-weight:900;unicode-range:")
    ranges = re.search(r"unicode-range:([^;]*);", css)[1].lower().split(",")
    drawn = {0xF005, 0xF007, 0xF008, 0xF009, 0xF00A}  # a page, a script, styles
    assert {int(code.removeprefix("u+"), 16) for code in ranges} == drawn
    small = base64.b64decode(re.search(r"base64,([^\"]*)\"", css)[1])
    assert set(TTFont(io.BytesIO(small)).getBestCmap()) == drawn


def test_a_font_that_draws_none_of_the_icons_is_left_out(site: Path):
    assert "font-family:J" not in written(site)


def test_a_second_build_finds_the_same_icons(site: Path):
    assert written(site) == written(site)


def test_a_failed_build_is_left_alone(site: Path):
    app = SimpleNamespace(outdir=str(site), builder=SimpleNamespace(format="html"))
    write_icons(app, RuntimeError("no"))
    assert not (site / "_static" / SHEET).exists()


def test_a_part_of_a_font_draws_what_is_asked_for_and_as_wide(tmp_path: Path):
    font(tmp_path / "all.ttf", 0xF005, 0xF006, 0xF007)
    whole = TTFont(tmp_path / "all.ttf")
    left = TTFont(io.BytesIO(subset_font(tmp_path / "all.ttf", "\uf006\uf007\uf0ff")))
    assert set(left.getBestCmap()) == {0xF006, 0xF007}
    for code in (0xF006, 0xF007):
        widths = [f["hmtx"][f.getBestCmap()[code]][0] for f in (whole, left)]
        assert widths[0] == widths[1]
