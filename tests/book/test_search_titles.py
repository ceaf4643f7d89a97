"""Who types a title, a term or an exercise finds it; pages for teachers come last."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect

from autograder.exercise import load_topic, topic_names
from tests.book.contents import pages_of_the_book
from toolkit.book import parts

SHOWN = 8  # of what is found, in the dialog
# Most of a page, and no part of a title.
OTHER = re.compile(
    r"<(mjx-math|script|style|table|pre|svg)\b.*?</\1>|<nav\b.*?</nav>", re.S
)


def titles(html: Path) -> Iterator[tuple[str, str, str]]:
    """Page, title and address of each section, as the pages print them.

    A heading below which a script puts something, as practice, begins no section.
    """
    for name in pages_of_the_book():
        text = (html / f"{name}.html").read_text(encoding="utf-8")
        page = BeautifulSoup(OTHER.sub("", text), "html.parser")
        for section in page.select("article section"):
            heading = section.find(["h1", "h2", "h3", "h4"], recursive=False)
            if heading is None:
                continue
            for extra in heading.select(".headerlink, .section-number"):
                extra.decompose()
            anchor = "" if heading.name == "h1" else f"#{section['id']}"
            yield name, " ".join(heading.text.split()), f"{name}.html{anchor}"


@pytest.fixture
def ranking(html: Path, browser: Browser) -> Iterator[Page]:
    """An empty page with the ranking and the index of the book."""
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.add_script_tag(
            content="var DOCUMENTATION_OPTIONS = { LINK_SUFFIX: '.html' };"
        )
        for name in ("language_data", "search_sections", "search_ranking"):
            page.add_script_tag(path=html / "_static" / f"{name}.js")
        yield page


def test_every_title_is_found_by_typing_it_or_its_beginning(ranking: Page, html: Path):
    sections = list(titles(html))
    assert len(sections) > 300
    count = [title for _, title, _ in sections].count
    begun = {title[:-1] for _, title, _ in sections}
    typed = {title for _, title, _ in sections} | begun
    found = find_all(ranking, typed)
    page_titles = {name: title for name, title, place in sections if "#" not in place}
    lost = [
        (title, place)
        for _, title, place in sections
        if count(title) == 1
        and (found[title][:1] != [place] or place not in found[title[:-1]][:SHOWN])
    ]
    assert lost == []
    shared = [(f"{title} {page_titles[name]}", at) for name, title, at in sections]
    found = find_all(ranking, {words for words, _ in shared})
    assert [(words, at) for words, at in shared if found[words][0] != at] == []


MASKED = "chapters/masking.html#fully-masked-queries"
FIND = "t => BookSearch.find(t).map(found => found.address)"


def find_all(ranking: Page, typed: set[str]) -> dict[str, list[str]]:
    """What is found for each of many texts."""
    asked = f"all => Object.fromEntries(all.map(t => [t, ({FIND})(t)]))"
    return ranking.evaluate(asked, sorted(typed))


def test_the_name_of_an_exercise_finds_it(ranking: Page):
    places = {
        name: f"chapters/{topic}.html#exercise-{name}"
        for topic in topic_names()
        for name in load_topic(topic).exercises
    }
    found = find_all(ranking, set(places))
    # Some are terms: then what explains them and the glossary may come first.
    assert [n for n in places if places[n] not in found[n][:3]] == []
    assert {n: found[n][:1] for n in places if "_" in n} == {
        n: [places[n]] for n in places if "_" in n
    }


@pytest.mark.parametrize(
    ("query", "among", "place"),
    [
        ("causal mask", 3, "chapters/masking.html#boolean-masks"),
        ("perplexity", 3, "chapters/glossary.html#term-perplexity"),
        ("why divide by sqrt", 3, "chapters/scaling.html"),
        ("MHA", 3, "chapters/multi_head.html"),
        ("beam sear", 3, "chapters/decoding.html"),  # not yet all of it
        ("nan", 2, MASKED),
        ("why does my model output nan", 2, MASKED),
    ],
)
def test_a_term_or_a_symptom_finds_what_explains_it(
    query: str, among: int, place: str, ranking: Page
):
    assert any(place in found for found in ranking.evaluate(FIND, query)[:among])


def test_pages_for_teachers_come_after_those_for_readers(ranking: Page):
    for_teachers = next(p.pages for p in parts() if p.caption == "For teachers")
    for query in ("nan", "softmax", "why does my model output nan"):
        found = [a.partition(".html")[0] for a in ranking.evaluate(FIND, query)]
        late = [page in for_teachers for page in found]
        assert late == sorted(late), query
    assert late[-1]  # they are found as well


def test_of_sections_with_one_title_that_of_the_page_comes_first(
    browser: Browser, site: str
):
    with browser.new_context() as context:
        page = context.new_page()
        for name in ("vit_patches", "masking"):
            page.goto(f"{site}chapters/{name}.html", wait_until="load")
            page.keyboard.press("Control+k")
            page.get_by_role("combobox", name="Search this book").fill("summary")
            first = page.get_by_role("option").first
            expect(first).to_have_attribute("href", f"../chapters/{name}.html#summary")
