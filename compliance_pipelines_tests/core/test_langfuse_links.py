"""Links into Langfuse: ids alone, filters as its interface writes them, nothing without address and project."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import pandas as pd
import pytest

from compliance_pipelines.core.langfuse_links import (
    SHOWN,
    LangfuseLinks,
    departments_markdown,
    flagged,
    flagged_markdown,
)
from compliance_pipelines.core.periods import Month
from compliance_pipelines.settings import SettingsError, settings

LINKS = LangfuseLinks("https://langfuse.example/project/p1")
JUNE = Month(2026, 6)
AT = datetime(2026, 6, 9, 8, tzinfo=UTC)


def table(count: int, *, marked: bool = True, trace: str = "t{k}") -> pd.DataFrame:
    rows = [
        (trace.format(k=k), "direction-rh", AT + timedelta(minutes=k), marked, "une question", "une réponse")
        for k in range(count)
    ]
    return pd.DataFrame(rows, columns=["trace_id", "department", "observed_at", "flagged", "question", "answer"])


def test_a_department_leads_to_its_traces_of_the_period() -> None:
    parts = urlsplit(LINKS.department("direction-rh", JUNE.start, JUNE.end))
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "langfuse.example", "/project/p1/traces")
    stamp, first, last = (unquote(one).split(";") for one in parse_qs(parts.query)["filter"][0].split(","))
    assert stamp == ["metadata", "stringObject", "compliance_department", "=", "direction-rh"]
    assert first == ["timestamp", "datetime", "", ">=", "2026-05-31T22:00:00.000Z"]
    assert last == ["timestamp", "datetime", "", "<", "2026-06-30T22:00:00.000Z"]


def test_the_newest_flagged_traces_by_id() -> None:
    days = [flagged(table(30, trace="a{k}")), flagged(table(3, marked=False)), flagged(table(2, trace="b{k}"))]
    assert [len(one) for one in days] == [SHOWN, 0, 2]
    text = flagged_markdown(days, LINKS)
    lines = text.splitlines()
    assert len(lines) == SHOWN + 2
    assert lines[2] == "| 2026-06-09 08:29 | direction-rh | [a29](https://langfuse.example/project/p1/traces/a29) |"
    assert "question" not in text
    assert "réponse" not in text
    assert flagged_markdown([flagged(table(3, marked=False))], LINKS) == "Aucune trace signalée."


def test_an_id_cannot_draw_anything_else() -> None:
    text = flagged_markdown([flagged(table(1, trace="x](javascript:1)|<b>"))], LINKS)
    assert (
        "[x??javascript?1???b?](https://langfuse.example/project/p1/traces/x%5D%28javascript%3A1%29%7C%3Cb%3E)" in text
    )


def test_without_address_or_project_there_is_no_link() -> None:
    assert "](" not in flagged_markdown([flagged(table(2))], LangfuseLinks())
    assert "LANGFUSE_PROJECT_ID" in departments_markdown(["direction-rh"], JUNE.start, JUNE.end, LangfuseLinks())
    two = departments_markdown(["direction-rh", "direction-it", "direction-rh"], JUNE.start, JUNE.end, LINKS)
    assert two.count("](https://langfuse.example/project/p1/traces?filter=") == 2


@pytest.mark.parametrize(
    ("env", "project"),
    [
        ({}, ""),
        ({"LANGFUSE_HOST": "https://langfuse.example/"}, ""),
        ({"LANGFUSE_PROJECT_ID": "p1"}, ""),
        ({"LANGFUSE_HOST": "https://langfuse.example/", "LANGFUSE_PROJECT_ID": "p1"}, LINKS.project),
        ({"LANGFUSE_BASE_URL": "https://langfuse.example", "LANGFUSE_PROJECT_ID": "p1"}, LINKS.project),
    ],
)
def test_the_environment(env: dict[str, str], project: str) -> None:
    assert settings(env).langfuse_project == project


def test_a_project_that_is_set_but_wrong_is_an_error() -> None:
    with pytest.raises(SettingsError, match="LANGFUSE_PROJECT_ID : attendu"):
        settings({"LANGFUSE_PROJECT_ID": "p1/../../admin"})
