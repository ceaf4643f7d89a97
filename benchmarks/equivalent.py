"""Changes to the references that change nothing, each with its proof in a line.

A change is found by the line that it is made in, and by how ``mutants`` prints it; of
both, a part that belongs to no other change is enough.
"""

from __future__ import annotations

# By exercise: a part of the line, the beginning of the change, and the proof.
PROOFS: dict[str, list[tuple[str, str, str]]] = {}


def proof(exercise: str, line: str, change: str) -> str:
    """Why a change to a reference changes nothing; empty if nobody has shown it."""
    for part, beginning, why in PROOFS.get(exercise, ()):
        if part in line and change.startswith(beginning):
            return why
    return ""
