"""Shared code of Sphinx extensions that show one kind of notebook output."""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from myst_nb.core.render import MimeData, load_mime_renders


class MimeRenderer:
    """Tells MyST-NB how to show outputs of one MIME type, which it prefers to others.

    Subclasses name the type in ``mime`` and draw it in ``show``.
    """

    mime: ClassVar[str]
    mime_priority_overrides: ClassVar[tuple[tuple[str, str, int], ...]]

    def __init_subclass__(cls) -> None:
        cls.mime_priority_overrides = (("*", cls.mime, 1),)

    @classmethod
    def register(cls) -> None:
        """Add this renderer to those of MyST-NB, whose list lives as long as Sphinx."""
        renderers = load_mime_renders()
        if cls not in renderers:
            renderers.append(cls)

    @classmethod
    def handle_mime(
        cls, renderer: Any, data: MimeData, inline: bool
    ) -> list[nodes.Element] | None:
        """What MyST-NB calls for each output; None for those of another type."""
        return cls.show(renderer, data.content) if data.mime_type == cls.mime else None

    @classmethod
    def show(cls, renderer: Any, content: Any) -> list[nodes.Element]:
        """The nodes for an output with this content."""
        raise NotImplementedError
