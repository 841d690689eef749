"""A text made ready once for all detectors: folded, and for the detectors that share a book its sentences with groups.

`prepare` is cheap and lazy: what a detector does not ask for is not worked out. Holds no rule. Serves the rule that a
text is folded and cut into words once, however many detectors look at it.
"""

from __future__ import annotations

from typing import Any

from .text import View, view


class Prepared:
    """A text with its fold and what detectors have worked out of it; keep it no longer than the text itself."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.groups: tuple[Any, Any] | None = None
        self._seen: View | None = None

    @property
    def seen(self) -> View:
        """The fold of the text."""
        if self._seen is None:
            self._seen = view(self.text)
        return self._seen


def prepare(text: str | Prepared) -> Prepared:
    """`text` made ready; one that is so already comes back as it is."""
    return text if isinstance(text, Prepared) else Prepared(text)
