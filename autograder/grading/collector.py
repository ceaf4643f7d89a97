"""``nbgrader zip_collect`` on what a learning management system packs for download.

nbgrader calls both classes, which a course's ``nbgrader_config.py`` names. As for
``autograder collect``, ``autograder.lms`` decides whose a file is and which one counts.
Courses that were made before would not find the classes in another module.
"""

from __future__ import annotations

from pathlib import Path

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from autograder.lms.archives import unpack
from autograder.lms.members import shown
from autograder.lms.names import CANVAS, MOODLE, choose, notebook_at


class LmsExtractor(ExtractorPlugin):
    """Takes the notebooks out of downloaded archives, whatever else is in them."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Take the notebooks out of all archives in a folder, and those beside them."""
        unpack(Path(archive_path), Path(extracted_path), self._tell)

    def _tell(self, name: str, why: str) -> None:
        self.log.warning("not unpacked: %s: %s", name, why)


class LmsCollector(FileNameCollectorPlugin):
    """Determines the owner of each notebook, and takes one per person.

    The number that the system gave is part of the name, so two people of one name stay
    apart, and a name that can be read as that of several people is nobody's.
    """

    _chosen: dict[str, str] | None = None

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """The student and the chapter of a file; ``None`` if it is not to be taken."""
        if self._chosen is None:
            self._chosen = self._choose()
        student = self._chosen.get(submitted_file)
        if student is None:
            return None
        return {"student_id": student, "file_id": self._chapter}

    @property
    def _chapter(self) -> str:
        return self.parent.coursedir.assignment_id

    def _choose(self) -> dict[str, str]:
        """The notebook of each person: by path, whose it is."""
        root, notebooks = self._extracted(), []
        for path in sorted(p for p in root.rglob("*.ipynb") if p.is_file()):
            found = notebook_at(path, root, (CANVAS, MOODLE))
            if isinstance(found, str):
                self._tell(path, found)
            elif found.others:
                self._tell(path, "its name can be read as that of several people")
            else:
                notebooks.append(found)
        chosen, left = choose(notebooks, self._chapter)
        for notebook, why in left:
            self._tell(notebook.path, why)
        return {str(notebook.path): student for student, notebook in chosen.items()}

    def _extracted(self) -> Path:
        app = self.parent
        place = app.collect_directory_structure.format(
            downloaded=app.downloaded_directory,
            assignment_id=app.coursedir.assignment_id,
            collect_step=app.extracted_directory,
        )
        return Path(app.coursedir.root, place)

    def _tell(self, path: Path, why: str) -> None:
        name = "/".join(path.relative_to(self._extracted()).parts)
        self.log.warning("not collected: %s: %s", shown(name), shown(why))
