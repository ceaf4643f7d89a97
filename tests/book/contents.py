"""The pages of the built site, by the names that ``_toc.yml`` gives them."""

from toolkit.book import CHAPTERS, pages

ROOT = CHAPTERS.parent


def pages_of_the_book() -> list[str]:
    """The pages named in ``_toc.yml``."""
    return pages()


def pages_on_paper() -> list[str]:
    """The pages of the PDF, where a cover takes the place of the start page."""
    return [page for page in pages() if page != "index"]


def pages_of_the_site() -> list[str]:
    """The pages of the book, and those that Sphinx adds."""
    return [*pages(), "search", "genindex"]
