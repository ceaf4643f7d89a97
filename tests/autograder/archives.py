"""Archives as systems pack them, made for the tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping


def zipped(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """The bytes of an archive with these files, whatever their names are."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()
