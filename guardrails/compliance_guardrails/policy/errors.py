"""The one error that policy files can cause: which file, which key, what was expected, in French.

Experts who own the YAML read these lines, so nothing of Python shows in them: no type name, no
traceback, one line per problem. What was found is quoted only in short and stripped of control
characters.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_QUOTED = 40
_SPACES = "\u00a0\u202f"  # French typography; Python does not call them printable


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: `file` as people know it, `key` a dotted path, `expected` a French phrase."""

    file: str
    key: str
    expected: str

    @property
    def line_fr(self) -> str:
        """The problem on one line: "fichier: clé: attendu …"."""
        line = f"{self.file}: {self.key}: attendu {self.expected}"
        return "".join(c if c.isprintable() or c in _SPACES else "?" for c in line)


class PolicyError(ValueError):
    """A policy file is not usable. `str(error)` is one French line; `problems` has them all, in order."""

    def __init__(self, file: str, key: str, expected: str, others: tuple[Problem, ...] = ()) -> None:
        self.file = file
        self.key = key
        self.expected = expected
        self.problems: tuple[Problem, ...] = (Problem(file, key, expected), *others)
        super().__init__(self.message_fr)

    def __reduce__(self) -> tuple[type[PolicyError], tuple[str, str, str, tuple[Problem, ...]]]:
        return (type(self), (self.file, self.key, self.expected, self.problems[1:]))

    @property
    def message_fr(self) -> str:
        """The first problem, and how many more there are."""
        more = len(self.problems) - 1
        tail = f" (et {more} autre{'s' if more > 1 else ''} erreur{'s' if more > 1 else ''})" if more else ""
        return self.problems[0].line_fr + tail

    @classmethod
    def of(cls, problems: tuple[Problem, ...]) -> PolicyError:
        """The error that carries `problems` (at least one)."""
        first = problems[0]
        return cls(first.file, first.key, first.expected, problems[1:])


def quoted(value: object) -> str:
    """`value` as it may stand in a message: short, printable, on one line, between French quotes."""
    if isinstance(value, dict):
        return "un groupe de clés"
    if isinstance(value, list):
        return "une liste"
    if value is None:
        return "rien"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = " ".join("".join(c if c.isprintable() else " " for c in str(value)[: MAX_QUOTED * 2]).split())
    return f"« {text[:MAX_QUOTED]}{'…' if len(text) > MAX_QUOTED else ''} »"
