"""The small types that policy models share: bounded numbers, ids, texts, and the closed sets of words.

Words that a file may hold are StrEnums whose values are the words themselves. Nothing here reads a file.
"""

import enum
from datetime import date
from typing import Annotated, Final

from pydantic import Field

from .strict import StrictModel

UNATTRIBUTED: Final = "non-attribue"

Unit = Annotated[float, Field(ge=0, le=1)]
"""A share or a score, 0 to 1."""
Minutes = Annotated[int, Field(ge=1, le=7 * 24 * 60)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
"""Lower-case words joined by hyphens, unaccented: "direction-sinistres"."""
Text = Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]
Label = Annotated[str, Field(min_length=1, max_length=120, pattern=r"\S")]
Alias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class Risk(enum.StrEnum):
    """How much harm a wrong answer does in a department."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class MissingScore(enum.StrEnum):
    """What the grounding gate does when no usable similarity came with the request."""

    PASS_AND_FLAG = "pass_and_flag"  # noqa: S105 - not a secret
    REFUSE = "refuse"


class OnError(enum.StrEnum):
    """What the hook does with a request when the hook itself fails."""

    PASS = "pass"  # noqa: S105 - not a secret
    REFUSE = "refuse"


class Action(enum.StrEnum):
    """What a bias screen above its threshold leads to."""

    WARN = "warn"
    BLOCK = "block"


class Stream(enum.StrEnum):
    """How a streamed answer is screened: held back until screened, or screened at its end."""

    BUFFER = "buffer"
    APPEND = "append"


class Severity(enum.StrEnum):
    """Alertmanager severities in use."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class AlertName(enum.StrEnum):
    """Every alert that may fire; people route on these names, so they never change."""

    NEUTRALITY_BELOW_THRESHOLD = "NeutralityBelowThreshold"
    UNCITED_CLAIMS_BURST = "UncitedClaimsBurst"
    UNSCORED_RATE_HIGH = "UnscoredRateHigh"
    JUDGE_UNRELIABLE = "JudgeUnreliable"
    NIGHT_MISSING = "NightMissing"
    RUN_FAILED = "RunFailed"
    REPORT_MISSING = "ReportMissing"
    RETENTION_NOT_VERIFIED = "RetentionNotVerified"
    GUARDRAIL_ERRORS = "GuardrailErrors"
    GUARDRAIL_NOT_FED = "GuardrailNotFed"
    REPORT_PUBLISHED = "ReportPublished"


class DatedFile(StrictModel):
    """What every policy file has: the first day on which it is in force."""

    effective_from: date = Field(description="Premier jour d’application, AAAA-MM-JJ")


def refuse_duplicates(what: str, values: tuple[str, ...]) -> None:
    """Raise ValueError (French, continues "attendu") when `values` repeats itself."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{what} sans répétition, « {value[:60]} » figure deux fois")
        seen.add(value)
