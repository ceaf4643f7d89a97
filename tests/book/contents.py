"""What ``_toc.yml`` says is in the book."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def pages_of_the_book() -> list[str]:
    """The pages named in ``_toc.yml``."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [contents["root"], *_files(contents.get("parts", []))]


def pages_of_the_site() -> list[str]:
    """The pages of the book, and those that Sphinx adds."""
    return [*pages_of_the_book(), "search", "genindex"]


def _files(entries: list[dict]) -> list[str]:
    files = []
    for entry in entries:
        files += [entry["file"]] if "file" in entry else []
        files += _files(entry.get("chapters", []) + entry.get("sections", []))
    return files
