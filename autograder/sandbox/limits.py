"""What one submission may use, and what each limit is called in a report."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What the system says at a limit that it enforces by itself.
_SAID = {
    r"MemoryError|Cannot allocate memory": "memory",
    r"Errno 11\b|start new thread": "threads",
    r"Errno 24\b": "open_files",
    r"Errno 27\b": "file_size",
    r"Errno 28\b": "disk",
}

# What a kernel needs to start; sizes are in bytes, which is easily forgotten.
LEAST = {
    "memory": 128 * 2**20,
    "threads": 16,
    "open_files": 64,
    "files": 16,
    **dict.fromkeys(("disk", "file_size", "answer_bytes", "message_bytes"), 2**20),
}
PATIENCE = 4  # factor on limits of wall time while processors are busy
MOST = 2**60  # the system takes no larger numbers, and no infinity


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Bytes, seconds and counts.

    Attributes:
        memory: address space beyond that of a kernel that has just started.
        disk: size of each of its private folders (home, /tmp, /dev/shm), in memory too.
        files: inodes in each of them.
        file_size: largest file.
        threads: of its only process.
        open_files: open files.
        cpu_seconds: processor time of all its threads together, in whole seconds.
        cell_seconds: wall time of a cell, and of the questions on one exercise.
        submission_seconds: wall time of everything.
        output_bytes: what is kept of all that it prints or displays.
        answer_bytes: of its answers to all cases of an exercise, as they are sent.
        message_bytes: of everything it sends, answers and outputs.
    """

    memory: int = 2 * 2**30
    disk: int = 256 * 2**20
    files: int = 4096
    file_size: int = 128 * 2**20
    threads: int = 128
    open_files: int = 512
    cpu_seconds: float = 300
    cell_seconds: float = 30
    submission_seconds: float = 180
    output_bytes: int = 8 * 2**20
    answer_bytes: int = 32 * 2**20
    message_bytes: int = 64 * 2**20

    def called(self, limit: str) -> str:
        """How a report names a limit, for example ``memory limit of 2048 MB``."""
        disk = f"{megabytes(self.disk)} and {self.files} files in a folder"
        return {
            "memory": f"memory limit of {megabytes(self.memory)}",
            "disk": f"limit of {disk}",
            "file_size": f"limit of {megabytes(self.file_size)} in a file",
            "threads": f"limit of {self.threads} threads",
            "open_files": f"limit of {self.open_files} open files",
            "cpu_seconds": f"processor time limit of {self.cpu_seconds:g} s",
            "cell_seconds": f"time limit of {self.cell_seconds:g} s",
            "submission_seconds": f"time limit of {self.submission_seconds:g} s",
            "output_bytes": f"output limit of {megabytes(self.output_bytes)}",
            "answer_bytes": f"answer limit of {megabytes(self.answer_bytes)}",
            "message_bytes": f"limit of {megabytes(self.message_bytes)} on all it "
            "sends, outputs and answers",
        }[limit]

    def behind(self, error: str) -> str | None:
        """The name of the limit at which the system raises such an error, if any."""
        for said, limit in _SAID.items():
            if re.search(said, error):
                return self.called(limit)
        return None


def megabytes(size: float) -> str:
    """A number of bytes as text, for example ``0.5 MB``."""
    return f"{size / 2**20:g} MB"
