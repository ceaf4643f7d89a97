"""Style sheets that pages share are loaded as one, without what none of them uses."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from tools.pages.icons import THEME as ICONS
from tools.pages.page import Page, parsed
from tools.pages.styles import SHEET, merge

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
    """The static files of a book."""
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
    return static


def finish(site: Path, word: str = "own") -> list[Page]:
    """Three pages that share their sheets; ``word`` is a class on the last of them."""
    pages = {"index": ("", "plain"), "search": ("", "a"), "chapters/one": (OWN, word)}
    found = [
        parsed(name, HEAD.format(up="../" * name.count("/"), own=own, word=word))
        for name, (own, word) in pages.items()
    ]
    merge(SimpleNamespace(outdir=site.parent), found)
    return found


def sheets(page: Page) -> list[str]:
    soup = BeautifulSoup(page.html, "html.parser")
    return [link["href"].split("?")[0] for link in soup("link", rel="stylesheet")]


def test_the_shared_sheets_become_one_and_others_stay(site: Path):
    first, _, chapter = finish(site)
    assert sheets(first) == [f"_static/{SHEET}", "_static/paper.css"]
    assert sheets(chapter) == [
        f"../_static/{SHEET}",
        "../_static/paper.css",
        "../_static/own.css",
    ]


def test_the_sheet_keeps_what_pages_and_scripts_use(site: Path):
    finish(site)
    css = (site / SHEET).read_text()
    for kept in (".late", ".plain", ".icon-star"):
        assert kept in css
    for gone in (".gone", ".icon-moon", "@charset", ".own", ".paper"):
        assert gone not in css
    for address in ("pictures/a.png", "theme/fonts/icons.woff2"):
        assert f'url("{address}")' in css  # as seen from the sheet's new place


def test_what_a_sheet_imports_comes_before_it_and_in_order(site: Path):
    finish(site)
    css = (site / SHEET).read_text()
    assert "@import" not in css
    places = [css.index(text) for text in ("margin: 1px", "margin: 2px", "p{")]
    assert places == sorted(places)


def test_whoever_has_kept_the_old_sheet_asks_for_the_new_one(site: Path):
    before = finish(site)
    after = finish(site, "gone")
    assert ".gone" in (site / SHEET).read_text()
    assert before[0].html != after[0].html
    assert finish(site, "gone") == after
