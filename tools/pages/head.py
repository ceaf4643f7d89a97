"""Page metadata for search engines and messengers.

Search engines and messengers show a title, a description and a picture. The description
is how the page begins. The picture is drawn when the book is built. Addresses in them
have to be complete, so there is a site map only where it is known where the book is
published: ``html.baseurl`` in ``_config.yml``, or else the pages of the repository that
is named there. A page for addresses that do not exist needs no other file, because it
may be shown at any address.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.sax.saxutils import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from tools.exercise_notebooks import repository
from tools.pages.page import Page
from tools.pages.preview_picture import ALT, HEIGHT, WIDTH, draw

PICTURE = "_static/preview.png"
TEMPLATES = Path(__file__).with_name("templates")
LONGEST = 160  # characters; more of a description is not shown
VIEWPORT = re.compile(r'\s*<meta\b[^>]*\bname="viewport"[^>]*>')
NO_INDEX = '<meta name="robots" content="noindex">'  # pages that no search shows
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


def connect(app: Sphinx) -> None:
    """Register what Sphinx has to do meanwhile."""
    app.connect("config-inited", prepare)
    app.connect("doctree-read", keep_opening)
    app.connect("html-collect-pages", page_for_missing_ones)


def prepare(app: Sphinx, config: Config) -> None:
    """Find the templates, and where the book will be published."""
    config.templates_path.insert(0, str(TEMPLATES))
    if not config.html_baseurl and (found := repository(app)):
        config.html_baseurl = pages_address(found[0])


def pages_address(url: str) -> str:
    """Where GitHub publishes the pages of a repository."""
    owner, name = url.removeprefix("https://github.com/").split("/")
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def keep_opening(app: Sphinx, doctree: nodes.document) -> None:
    """Note how a page begins, for its own head."""
    app.env.metadata[app.env.docname]["opening"] = opening(doctree)


def opening(doctree: nodes.document) -> str:
    """The first paragraph without formulas, up to the last sentence that fits."""
    for paragraph in doctree.findall(nodes.paragraph):
        own = isinstance(paragraph.parent, nodes.section)
        if own and not any(paragraph.findall(nodes.math)):
            return shortened(" ".join(paragraph.astext().split()))
    return ""


def shortened(text: str) -> str:
    """As many whole sentences as fit, or else as many words."""
    if len(text) <= LONGEST:
        return text
    cut = text[: LONGEST + 1]
    sentence = re.match(r".*[.?!](?=\s)", cut)
    if sentence and len(sentence[0]) > LONGEST / 3:
        return sentence[0]
    return cut[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def describe(app: Sphinx, pages: list[Page]) -> None:
    """Put a description and what messengers show into the heads of pages.

    They begin with the viewport, which the theme, docutils and Jupyter Book set.
    """
    for page in pages:
        if NO_INDEX not in page.before:
            start, *parts = VIEWPORT.split(page.before)
            tags = "\n    ".join(_tags(app, page))
            page.before = f"{start}\n    {tags}{''.join(parts)}"
    write_files(app)


def _tags(app: Sphinx, page: Page) -> Iterator[str]:
    about = app.env.metadata.get(page.name, {}).get("opening", "")
    book, author = app.config.html_title, app.config.author
    title = TITLE.search(page.before)[1].removesuffix(f" &#8212; {html.escape(book)}")
    address = app.config.html_baseurl
    yield _tag("name", "viewport", "width=device-width, initial-scale=1")
    if about:
        yield _tag("name", "description", about)
        yield _tag("property", "og:description", about)
    yield _tag("name", "author", author)
    yield _tag("property", "og:title", html.unescape(title))
    yield _tag("property", "og:site_name", book)
    kind = "website" if page.name == app.config.root_doc else "article"
    yield _tag("property", "og:type", kind)
    if address and page.name in app.env.found_docs:
        yield _tag("property", "og:url", page_address(app, page.name))
    yield _tag("property", "og:image", f"{address or page.up}{PICTURE}")
    yield _tag("property", "og:image:width", str(WIDTH))
    yield _tag("property", "og:image:height", str(HEIGHT))
    yield _tag("property", "og:image:alt", ALT)
    yield _tag("name", "twitter:card", "summary_large_image")


def _tag(kind: str, name: str, content: str) -> str:
    return f'<meta {kind}="{name}" content="{html.escape(content)}">'


def page_address(app: Sphinx, page: str) -> str:
    """The complete address of a page; the first page is the folder itself."""
    name = "" if page == "index" else app.builder.get_target_uri(page)
    return urljoin(app.config.html_baseurl, name)


def page_for_missing_ones(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page that hosts show where there is none."""
    yield "404", {"site": app.config.html_baseurl}, "404.html"


def write_files(app: Sphinx) -> None:
    """Write the picture, the site map where addresses are known, and llms.txt."""
    folder = Path(app.outdir)
    draw(folder / PICTURE, app.config.html_title)
    for_assistants = Path(app.srcdir, "llms.txt")
    if for_assistants.is_file():
        shutil.copyfile(for_assistants, folder / "llms.txt")
    if app.config.html_baseurl:
        pages = sorted(app.env.found_docs)
        (folder / "sitemap.xml").write_text(sitemap(app, pages), encoding="utf-8")


def sitemap(app: Sphinx, pages: list[str]) -> str:
    """The addresses of all pages, in the form of https://www.sitemaps.org."""
    entries = "".join(
        f"<url><loc>{escape(page_address(app, page))}</loc></url>\n" for page in pages
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{entries}</urlset>\n"
    )
