"""Write the practice cards of all chapters, one script for each, as pages load them.

    python -m tools.practice_cards FOLDER

A process of its own, so that they are made while chapters are executed. Cards are kept
like what was trained (``toolkit/kept.py``): nothing is made twice.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from autograder.book import chapter_title
from autograder.exercise import Topic, load_topic, topic_names
from autograder.practice import cards
from toolkit.kept import kept


@kept
def cards_of(topic: Topic, loaded: list) -> list[dict[str, Any]]:
    """The cards; ``loaded`` is what the topic loads by name, which no code shows."""
    return [card.as_dict() for card in cards(topic)]


def main(folder: Path) -> None:
    """Write ``TOPIC.js`` for every chapter that has cards."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in topic_names():
        topic = load_topic(name)
        loaded = [(topic.reference(n), topic.mistakes(n)) for n in topic.exercises]
        chapter = {"title": chapter_title(name), "cards": cards_of(topic, loaded)}
        text = json.dumps(chapter, ensure_ascii=True)
        script = (
            f"((globalThis.Practice ??= {{}}).chapters ??= {{}}).{name} = {text};\n"
        )
        (folder / f"{name}.js").write_text(script, encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
