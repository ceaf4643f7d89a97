"""Style sheets that pages share are loaded as one, without what none of them uses."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from tools.light_icons import THEME as ICONS
from tools.light_styles import SHEET, lighten

HEAD = """<!doctype html><html><head>
<link href="{up}_static/theme/theme.css?digest=1" rel="stylesheet" />
<link rel="stylesheet" type="text/css" href="{up}_static/common.css?v=2" />
<link media="print" rel="stylesheet" href="{up}_static/paper.css" />
{own}<script defer src="{up}_static/page.js"></script>
</head>
<body><p class="icon-star {word}">words</p></body></html>
"""
OWN = '<link rel="stylesheet" href="../_static/own.css">\n'
THEME = """@charset "utf-8";
@import "../base.css";
@import url(../more.css);
.gone { color: red }
.late { color: green }
p { background: url(../pictures/a.png) }
@font-face { font-family: I; src: url("fonts/icons.woff2") }
.icon-star::before { content: "a" }
.icon-moon::before { content: "b" }
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A built book of three pages."""
    static = tmp_path / "_static"
    (static / "theme").mkdir(parents=True)
    (static / "theme" / "theme.css").write_text(THEME)
    (static / "base.css").write_text("body { margin: 1px }\n")
    (static / "more.css").write_text("body { margin: 2px }\n")
    (static / "common.css").write_text(".plain { color: blue }\n")
    (static / "own.css").write_text(".own { color: black }\n")
    (static / "paper.css").write_text(".paper { color: black }\n")
    (static / ICONS).parent.mkdir()
    (static / ICONS).touch()
    (static / "page.js").write_text("p.classList.add('late')")
    (tmp_path / "chapters").mkdir()
    pages = {"index": ("", "plain"), "search": ("", "a"), "chapters/one": (OWN, "own")}
    for name, (own, word) in pages.items():
        up = "../" * name.count("/")
        page = HEAD.format(up=up, own=own, word=word)
        (tmp_path / f"{name}.html").write_text(page)
    return tmp_path


def finish(site: Path) -> None:
    app = SimpleNamespace(outdir=str(site), builder=SimpleNamespace(format="html"))
    lighten(app, None)


def sheets(page: Path) -> list[str]:
    soup = BeautifulSoup(page.read_text(), "html.parser")
    return [link["href"].split("?")[0] for link in soup("link", rel="stylesheet")]


def test_the_shared_sheets_become_one_and_others_stay(site: Path):
    finish(site)
    assert sheets(site / "index.html") == [f"_static/{SHEET}", "_static/paper.css"]
    assert sheets(site / "chapters" / "one.html") == [
        f"../_static/{SHEET}",
        "../_static/paper.css",
        "../_static/own.css",
    ]


def test_the_sheet_keeps_what_pages_and_scripts_use(site: Path):
    finish(site)
    css = (site / "_static" / SHEET).read_text()
    for kept in (".late", ".plain", ".icon-star"):
        assert kept in css
    for gone in (".gone", ".icon-moon", "@charset", ".own", ".paper"):
        assert gone not in css
    for address in ("pictures/a.png", "theme/fonts/icons.woff2"):
        assert f'url("{address}")' in css  # as seen from the sheet's new place


def test_what_a_sheet_imports_comes_before_it_and_in_order(site: Path):
    finish(site)
    css = (site / "_static" / SHEET).read_text()
    assert "@import" not in css
    places = [css.index(text) for text in ("margin: 1px", "margin: 2px", "p{")]
    assert places == sorted(places)


def test_a_second_build_that_changes_nothing_changes_nothing(site: Path):
    finish(site)
    before = {file: file.read_bytes() for file in site.rglob("*.*")}
    finish(site)
    assert {file: file.read_bytes() for file in site.rglob("*.*")} == before


def test_a_page_that_is_written_again_brings_its_rules_back(site: Path):
    finish(site)
    before = (site / "index.html").read_text()
    page = HEAD.format(up="../", own=OWN, word="gone")
    (site / "chapters" / "one.html").write_text(page)
    shutil.copy(site / "_static" / SHEET, site / "old.css")
    finish(site)
    css = (site / "_static" / SHEET).read_text()
    assert ".gone" in css
    assert sheets(site / "chapters" / "one.html")[0] == f"../_static/{SHEET}"
    # Whoever has kept the old sheet asks for the new one.
    assert (site / "index.html").read_text() != before
