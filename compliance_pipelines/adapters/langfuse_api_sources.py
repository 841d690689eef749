"""What to ask a Langfuse server for, by generation of its API.

v4 servers answer `v2/observations` and `v3/scores` by cursor; v3 servers answer `observations`, `traces` and
`v2/scores` by page number. Only the fields that are used are asked for. How pages are read lives elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from compliance_pipelines.adapters.langfuse_api_journal import Page
from compliance_pipelines.adapters.langfuse_api_rows import pack_observations, pack_scores
from compliance_pipelines.core.extraction import METADATA_KEYS, Window


@dataclass(frozen=True, slots=True)
class Source:
    """One listing endpoint. `low` and `high` name its window parameters; `numbered` pages are asked for by number."""

    name: str
    path: str
    low: str
    high: str
    limit: int
    pack: Callable[[bytes], tuple[Page, bytes | bytearray]]
    numbered: bool = False
    params: Mapping[str, str] = field(default_factory=dict)

    def query(self, window: Window, cursor: str | None, limit: int) -> dict[str, str]:
        """The parameters of one page; a numbered cursor is "page/limit"."""
        query = {**self.params, self.low: moment(window.start), self.high: moment(window.end), "limit": str(limit)}
        if not self.numbered:
            return query if cursor is None else query | {"cursor": cursor}
        page, _, asked = (cursor or f"1/{limit}").partition("/")
        return query | {"page": page, "limit": asked}


_STARTED = ("fromStartTime", "toStartTime")
_STAMPED = ("fromTimestamp", "toTimestamp")
V4_OBSERVATIONS = Source(
    "v4-observations",
    "/api/public/v2/observations",
    *_STARTED,
    1000,
    pack_observations,
    # a server cuts metadata at 200 characters, except under the names given
    params={"fields": "core,basic,time,io,metadata,model,trace_context", "expandMetadata": ",".join(METADATA_KEYS)},
)
V4_EVENTS = Source(
    "v4-events",
    "/api/public/v2/observations",
    *_STARTED,
    1000,
    pack_observations,
    params={"fields": "core,basic,time", "type": "EVENT"},
)
V4_SCORES = Source("v4-scores", "/api/public/v3/scores", *_STAMPED, 100, pack_scores, params={"fields": "core,subject"})
V3_OBSERVATIONS = Source(
    "v3-observations", "/api/public/observations", *_STARTED, 100, pack_observations, numbered=True
)
V3_EVENTS = Source(
    "v3-events",
    "/api/public/observations",
    *_STARTED,
    100,
    pack_observations,
    numbered=True,
    params={"type": "EVENT"},
)
V3_TRACES = Source(
    "v3-traces",
    "/api/public/traces",
    *_STAMPED,
    100,
    pack_observations,
    numbered=True,
    params={"fields": "core,io"},
)
V3_SCORES = Source(
    "v3-scores", "/api/public/v2/scores", *_STAMPED, 100, pack_scores, numbered=True, params={"fields": "score"}
)


@dataclass(frozen=True, slots=True)
class Generation:
    """The endpoints a server answers: what traces are read from, what scores are read from.

    `dual`: both generations answer, and the tables of v3 may hold rows from before the change that those of v4 lack.
    """

    name: str
    traces: tuple[Source, ...]
    scores: tuple[Source, ...]
    dual: bool = False

    @property
    def by_metrics(self) -> bool:
        """Whether the tables of v4 are read, whose rows the metrics endpoint counts."""
        return V4_OBSERVATIONS in self.traces

    def with_old_tables(self) -> Generation:
        """The same with what only the tables of v3 hold, read after those of v4."""
        return replace(self, traces=(*self.traces, V3_OBSERVATIONS, V3_TRACES), scores=(*self.scores, V3_EVENTS))


def moment(instant: datetime) -> str:
    """An instant as the API reads it, to the millisecond."""
    text = instant.astimezone(UTC)
    return f"{text:%Y-%m-%dT%H:%M:%S}.{text.microsecond // 1000:03d}Z"
