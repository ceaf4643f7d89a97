"""How many wrong answers are told a reason that the bank of mistakes does not hold.

Each known mistake is taken out of the bank once and handed in: what is left has to
explain it by another mistake, by an edit or by what an error means.

    python -m benchmarks.explanations [CHAPTER ...]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from dataclasses import replace

from autograder.break_exercise import BreakExercise
from autograder.exercise import load_topic, topic_names
from autograder.expected import expect, public_seeds
from autograder.judge import judge

KINDS = ("mistake", "edit", "error", "errors missing", "nothing")


def explained(chapter: str, verbose: bool) -> tuple[Counter[str], list[float]]:
    """How the mistakes of a chapter are explained without themselves, and how fast."""
    topic, kinds, seconds = load_topic(chapter), Counter(), []
    for exercise in topic.exercises.values():
        if isinstance(exercise, BreakExercise):  # a test is not explained by edits
            continue
        expected = expect(topic, exercise, public_seeds(exercise))
        for mistake in expected.mistakes:
            others = [known for known in expected.mistakes if known is not mistake]
            without = replace(expected, find_mistakes=lambda others=others: others)
            start = time.process_time()
            report = judge(exercise, mistake.answers, without)
            seconds.append(time.process_time() - start)
            kind = str(report.reason) or "nothing"
            kinds[kind] += 1
            if verbose:
                print(f"{kind:8} {exercise.name}: {mistake.name}: {report.message}")
    return kinds, seconds


def main() -> None:
    """Print a line for each chapter, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", default=topic_names())
    parser.add_argument("--verbose", action="store_true", help="print what is said")
    arguments = parser.parse_args()
    columns = "".join(f"{kind:>15}" for kind in (*KINDS, "explained"))
    print(f"{'chapter':22} answers{columns}    median   longest")
    total: Counter[str] = Counter()
    times: list[float] = []
    for chapter in arguments.chapters:
        kinds, seconds = explained(chapter, arguments.verbose)
        total += kinds
        times += seconds
        _line(chapter, kinds, seconds)
    _line("all", total, times)


def _line(name: str, kinds: Counter[str], seconds: list[float]) -> None:
    count = kinds.total()
    shares = "".join(f"{kinds[kind] / count:15.0%}" for kind in KINDS)
    print(
        f"{name:22}{count:8}{shares}{1 - kinds['nothing'] / count:15.0%}"
        f"{statistics.median(seconds):8.3f} s{max(seconds):8.3f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
