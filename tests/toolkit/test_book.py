"""The sections of the book, as a chapter reads them."""

from toolkit import book


def test_sections_are_prose_without_code_exercises_or_markup(tmp_path, monkeypatch):
    words = "one two three four five six seven eight nine ten " * 2
    (tmp_path / "chapter.md").write_text(
        "---\nkernelspec: {}\n---\n# Title\n\n"
        "See {doc}`masking` and a {term}`query` {cite:p}`someone2020`. "
        f"{words}\n\n"
        "```{code-cell} ipython3\nprint('hidden')\n```\n\n"
        "````{exercise} Write it\n:label: x\n\nhidden\n````\n\n"
        f"## Next\n\n```{{admonition}} A box\n:class: warning\nkept {words}\n```\n\n"
        "```bash\nhidden\n```\n"
        f"````{{quiz}}\nWhat?\n\n- [x] hidden {words}\n````\n"
        '+++ {"tags": ["hidden"]}\n'
        "## Short\n\ntoo short\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(book, "CHAPTERS", tmp_path)
    first, second = book.sections()
    assert (first.chapter, first.heading) == ("chapter", "Title")
    assert first.text.startswith("See masking and a query. one two")
    assert (second.heading, second.text.split()[0]) == ("Next", "kept")
    assert not any("hidden" in section.text for section in (first, second))


def test_without_chapters_the_documentation_of_torch_takes_their_place(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(book, "CHAPTERS", tmp_path)
    found = {section.heading: section.text for section in book.sections()}
    assert "MultiheadAttention" in found
    assert len(found) > 50
