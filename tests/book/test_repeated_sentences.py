"""What holds for many chapters is said once, and not again in each of them."""

import re
from collections import defaultdict

from toolkit.book import CHAPTERS

NOT_PROSE = re.compile(r"\A---\n.*?\n---\n|^(`{3,}).*?^\1$", re.M | re.S)
SENTENCE = re.compile(r"(?<=[.?!])\s+")
MOST = 5  # chapters
WORDS = 8  # shorter ones are labels


def test_no_sentence_stands_in_many_chapters():
    where = defaultdict(set)
    for file in CHAPTERS.rglob("*.md"):
        text = re.sub(r"^`{4,}.*$", "", file.read_text(encoding="utf-8"), flags=re.M)
        for paragraph in re.split(r"\n\s*\n", NOT_PROSE.sub("", text)):
            for sentence in SENTENCE.split(" ".join(paragraph.split())):
                if len(sentence.split()) >= WORDS:
                    where[sentence].add(file.stem)
    assert len(where) > 3000
    often = {sentence for sentence, files in where.items() if len(files) > MOST}
    assert not often
