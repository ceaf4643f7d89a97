"""The whole book as one PDF, printed by Chromium from the pages of the Jupyter Book.

    python -m tools.book_pdf _build/html attention_from_scratch.pdf

The pages of ``_toc.yml`` become one document: what has to be unique in it gets the name
of its page in front, links between pages become links inside, solutions move to the end
of their chapter, and a contents page says where everything is. Each chapter is printed
on pages of its own kind, whose margins have its title. Nothing is executed and nothing
comes from another host. How it looks on paper is in ``print.css``.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
import posixpath
import re
import sys
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page
from pypdf import PdfReader

from toolkit import book
from tools.chromium import NoChromium, chromium, headless_chromium
from tools.pages.preview_picture import ALT, SUBTITLE, scene_as_svg

BAD_INPUT = 2
# What only works on a screen.
NOT_ON_PAPER = ", ".join(
    (
        *("script", "a.headerlink", "details.hide", ".toctree-wrapper", ".noprint"),
        ".only-dark",
    )
)
START_PAGE = "article .attention-scene"  # paper has a cover in its place
# A page has one name, and rules without one hold for all. Margins are the same on all
# pages: Chromium lays out the whole document for the width of the first one.
EVERY_PAGE = """
@page { @bottom-center { content: counter(page); font: 8pt DejaVu Sans, sans-serif; } }
@page cover {
  background: linear-gradient(#6a3d8f 8mm, transparent 0);
  @bottom-center { content: none; }
}"""
PAGE_OF_CHAPTER = """
@page {name} {{
  @top-left {{ content: {book}; {style} }}
  @top-right {{ content: {title}; {style} }}
}}
#{anchor} {{ page: {name}; }}"""
HEAD_STYLE = "font: 8pt DejaVu Sans, sans-serif; color: #555;"
SETTLED = """async () => {
  await document.fonts.ready;
  await Promise.all([...document.images].map(image => image.decode()));
}"""
HIDE_ALL = "body * { visibility: hidden !important }"
NUMBER_CONTENTS = """(pages) => {
  for (const row of document.querySelectorAll('.contents-of-book a')) {
    const page = pages[row.getAttribute('href').slice(1)];
    row.querySelector('.page-number').textContent = page;
  }
}"""


class CannotPrint(Exception):
    """Why there is no PDF, in one line for whoever asked for it."""


def main(arguments: list[str] | None = None) -> int:
    """Print the book; the exit status is 2 when that is not possible."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.book_pdf", description="Print the built book as a PDF."
    )
    parser.add_argument("html", type=Path, help="folder of the built pages")
    parser.add_argument("pdf", type=Path, help="file to write")
    options = parser.parse_args(arguments)
    try:
        pages = print_book(Path.cwd(), options.html, options.pdf)
    except CannotPrint as error:
        print(f"book_pdf: {error}", file=sys.stderr)
        return BAD_INPUT
    print(f"{options.pdf}: {pages} pages")
    return 0


def print_book(root: Path, built: Path, pdf: Path) -> int:
    """Write the book that was built in ``built`` to ``pdf``.

    Args:
        root: folder of ``_config.yml`` and ``_toc.yml``.
        built: folder of the HTML pages.
        pdf: file to write.

    Returns:
        The number of pages.

    Raises:
        CannotPrint: a page was not built, or there is no Chromium.
    """
    try:
        chromium()
    except NoChromium as error:
        raise CannotPrint(f"needs Chromium; {error}") from error
    document = built / "_print.html"  # beside the pages, so that addresses stay right
    document.write_text(book_as_one_page(root, built), encoding="utf-8")
    try:
        with headless_chromium() as browser:
            page = browser.new_context(offline=True).new_page()
            page.set_default_timeout(300_000)
            page.emulate_media(media="print", color_scheme="light")
            page.goto(document.absolute().as_uri())
            page.evaluate(SETTLED)
            # Where a chapter begins is known only after printing. Hidden elements keep
            # their space, so a first pass without them takes a third of the time.
            hiding = page.add_style_tag(content=HIDE_ALL)
            begins = page_numbers(printed(page, tagged=False))
            hiding.evaluate("style => style.remove()")
            page.evaluate(NUMBER_CONTENTS, begins)
            content = printed(page, tagged=True)
    finally:
        document.unlink()
    pdf.parent.mkdir(parents=True, exist_ok=True)
    pdf.write_bytes(content)
    return len(PdfReader(io.BytesIO(content)).pages)


def printed(page: Page, tagged: bool) -> bytes:
    """What is open in the browser as a PDF; with ``tagged``, also with bookmarks."""
    return page.pdf(
        format="A4",
        outline=tagged,
        tagged=tagged,
        print_background=True,
        prefer_css_page_size=True,
    )


def page_numbers(pdf: bytes) -> dict[str, int]:
    """The page, from 1, of each place in a PDF that something links to."""
    reader = PdfReader(io.BytesIO(pdf))
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def book_as_one_page(root: Path, built: Path) -> str:
    """One HTML document with everything that ``_toc.yml`` names but the start page."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    listed = book.parts(root / "_toc.yml")
    soups = {
        name: soup
        for part in listed
        for name in part.pages
        if not (soup := read_page(built, name)).select(START_PAGE)
    }
    parts = [
        book.Part(part.caption, [name for name in part.pages if name in soups])
        for part in listed
    ]
    titles = {name: title_of(soup, name) for name, soup in soups.items()}
    chapters = []
    for part in parts:
        for name in part.pages:
            caption = part.caption if name == part.pages[0] else ""
            chapters.append(chapter(soups[name], name, caption, set(soups)))
    title, author = html.escape(config["title"]), html.escape(config["author"])
    heads = EVERY_PAGE + "".join(
        page_of_chapter(name, config["title"], titles[name]) for name in soups
    )
    return (
        f'<!doctype html>\n<html lang="en" data-theme="light">\n<head>\n'
        f'<meta charset="utf-8"><title>{title}</title>'
        f'<meta name="author" content="{author}">\n'
        f"{head_for_paper(soups)}\n<style>{heads}</style>\n</head>\n"
        f'<body class="book-on-paper"><div class="bd-content"><main class="bd-article">'
        f"{cover(title, author, html.escape(str(config['copyright'])))}\n"
        f"{contents(parts, titles)}\n{''.join(chapters)}</main></div></body></html>"
    )


def cover(title: str, author: str, year: str) -> str:
    """The first page: title, subtitle and picture of the book; all given as HTML."""
    picture = base64.b64encode(scene_as_svg().encode()).decode()
    return (
        f'<header class="cover"><p class="cover-title">{title}</p>'
        f'<p class="cover-subtitle">{html.escape(SUBTITLE)}</p>'
        f'<img src="data:image/svg+xml;base64,{picture}" alt="{html.escape(ALT)}">'
        f'<p class="cover-author">{author}, {year}</p></header>'
    )


def page_of_chapter(name: str, book_title: str, title: str) -> str:
    """Style of the pages of a chapter: its title is at their head."""
    return PAGE_OF_CHAPTER.format(
        name=f"of-{anchor(name)}",
        anchor=anchor(name),
        book=css_string(book_title),
        title=css_string(title),
        style=HEAD_STYLE,
    )


def css_string(text: str) -> str:
    """A text between quotation marks, in a style sheet inside of HTML."""
    escaped = re.sub(r'[\\"<\n]', lambda found: f"\\{ord(found[0]):x} ", text)
    return f'"{escaped}"'


def read_page(built: Path, name: str) -> BeautifulSoup:
    """A built page, parsed."""
    file = built / f"{name}.html"
    if not file.is_file():
        raise CannotPrint(
            f"{file} does not exist; build the book first, with make book"
        )
    return BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")


def title_of(soup: BeautifulSoup, name: str) -> str:
    """Number and title of a page."""
    heading = soup.select_one("article h1")
    if heading is None:
        raise CannotPrint(f"{name}.html has no title; is the page empty?")
    for link in heading.select("a.headerlink"):
        link.extract()
    return heading.get_text()


def head_for_paper(soups: dict[str, BeautifulSoup]) -> str:
    """Style sheets of all pages, and MathJax; other scripts are for the screen."""
    kept: dict[str, None] = {}
    for name, soup in soups.items():
        for element in soup.head.select('link[rel="stylesheet"], script'):
            address = element.get("href") or element.get("src") or ""
            about = (address + (element.string or "")).lower()
            if element.name == "script" and "mathjax" not in about:
                continue
            for attribute in ("href", "src"):
                if attribute in element.attrs:
                    folder = posixpath.dirname(name)
                    element[attribute] = from_root(element[attribute], folder)
            kept[str(element)] = None
    return "\n".join(kept)


def from_root(address: str, folder: str) -> str:
    """A relative address of a page in ``folder``, as seen from the root of the site."""
    if ":" in address.split("/")[0] or address.startswith("//"):
        return address
    return posixpath.normpath(posixpath.join(folder, address))


def contents(parts: list[book.Part], titles: dict[str, str]) -> str:
    """The contents page; its page numbers are filled in after printing once."""
    rows = []
    for part in parts:
        if part.caption:
            rows.append(f'<p class="part-of-book">{html.escape(part.caption)}</p>')
        for name in part.pages:
            rows.append(
                f'<p><a href="#{anchor(name)}"><span>{html.escape(titles[name])}</span>'
                '<span class="page-number">000</span></a></p>'
            )
    return f'<nav class="contents-of-book"><h1>Contents</h1>{"".join(rows)}</nav>'


def chapter(soup: BeautifulSoup, name: str, caption: str, names: set[str]) -> str:
    """The content of a page as a chapter of the document."""
    article = soup.select_one("article")
    for element in article.select(NOT_ON_PAPER):
        element.decompose()
    for folded in article.select("details:not(.quiz-option)"):
        folded["open"] = ""
    rename(article, name)
    for link in article.find_all("a", href=True):
        redirect(link, name, names)
    for image in article.find_all("img", src=True):
        image["src"] = from_root(image["src"], posixpath.dirname(name))
        image["loading"] = "eager"  # on paper, nothing scrolls into view
    move_solutions_to_the_end(soup, article)
    heading = f'<p class="part-of-book">{html.escape(caption)}</p>' if caption else ""
    return (
        f'<section class="chapter" id="{anchor(name)}">{heading}'
        f"{article.decode_contents()}</section>\n"
    )


def anchor(name: str, fragment: str = "") -> str:
    """The name, in the document, of a page or of a place on it."""
    return posixpath.basename(name) + (f"--{fragment}" if fragment else "")


def rename(article: Tag, name: str) -> None:
    """Put the name of the page before the names of its places."""
    for element in article.find_all(True):
        for attribute in ("id", "for", "aria-labelledby", "aria-describedby"):
            if attribute in element.attrs:
                element[attribute] = anchor(name, str(element[attribute]))


def redirect(link: Tag, name: str, names: set[str]) -> None:
    """Let a link to a page of the book stay in the document."""
    address, fragment = urldefrag(link["href"])
    if ":" in address.split("/")[0]:
        return
    target = name
    if address:
        target = from_root(address, posixpath.dirname(name)).removesuffix(".html")
    if target in names:
        link["href"] = "#" + anchor(target, fragment)
    else:  # a file beside the pages, which paper does not have
        link.unwrap()


def move_solutions_to_the_end(soup: BeautifulSoup, article: Tag) -> None:
    """On paper nothing can be folded away, so solutions and answers come last."""
    solutions = article.select(".solution, .quiz-answers")
    if not solutions:
        return
    section = soup.new_tag("section", attrs={"class": "solutions-of-chapter"})
    heading = soup.new_tag("h2")
    heading.string = "Solutions"
    section.append(heading)
    for solution in solutions:
        section.append(solution.extract())
    article.append(section)


if __name__ == "__main__":
    sys.exit(main())
