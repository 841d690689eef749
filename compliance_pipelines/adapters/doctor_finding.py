"""What a probe of `compliance doctor` says: a state and one French line that tells what to do.

The shape and the guard around probes live here; each probe lives with the system it asks, which one decides nothing of
the others. A line never carries a key, a password, a path of a certificate or a server's text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum

MAX_LINE = 300


class State(StrEnum):
    """What became of a probe. DEFAULT: nothing is configured and the embedded default serves."""

    OK = "en ordre"
    DEFAULT = "défaut embarqué"
    WRONG = "à corriger"
    AWAY = "injoignable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor. `name` is the connection ("langfuse"), `variable` what a person would edit."""

    name: str
    variable: str
    state: State
    line_fr: str

    def as_json(self) -> dict[str, str]:
        """The finding as a flat object."""
        return {key: str(value) for key, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Probe:
    """A connection to test. `run` may raise ProbeError; anything else it raises becomes "à corriger"."""

    name: str
    variable: str
    run: Callable[[], Finding]


class ProbeError(RuntimeError):
    """What a probe found wrong: one French line. `away` when the system did not answer."""

    def __init__(self, line_fr: str, *, away: bool = False) -> None:
        super().__init__(line_fr)
        self.state = State.AWAY if away else State.WRONG


def carry_out(probe: Probe) -> Finding:
    """Run one probe; its errors become findings, cut to one line of at most MAX_LINE characters."""
    try:
        found = probe.run()
    except ProbeError as error:
        found = Finding(probe.name, probe.variable, error.state, str(error))
    except Exception as error:  # noqa: BLE001  a probe that breaks must not hide the others; its text may hold a key
        line = f"{probe.variable} : la vérification elle-même échoue ({type(error).__name__}), signalez-le"
        found = Finding(probe.name, probe.variable, State.WRONG, line)
    line = " ".join(found.line_fr.split())
    return Finding(
        found.name, found.variable, found.state, line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
    )
