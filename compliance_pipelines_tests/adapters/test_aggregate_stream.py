"""Figures streamed from Parquet are those that core.aggregates computes on the same rows, to the last bit."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from compliance_pipelines.adapters.aggregate_stream import DamagedTableError, figures
from compliance_pipelines.core.aggregates import MetricRules, gather
from compliance_pipelines.core.conformity import VerdictRules

PERIOD = (datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
DEPARTMENTS, METRICS = ("direction-rh", "direction-it", "direction-été"), ("judge_neutrality", "citation_compliance")


def rows(n: int, talks: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    metric = rng.choice(METRICS, n)
    scored = rng.random(n) < 0.9
    value = np.where(metric == "citation_compliance", rng.integers(0, 2, n), rng.beta(8, 2, n))
    talk = rng.integers(0, talks, n)
    return pd.DataFrame(
        {
            "trace_id": [f"t{k}" for k in range(n)],
            "cluster": [None if t % 3 == 0 else f"s{t}" for t in talk],
            "department": rng.choice(DEPARTMENTS, n),
            "metric": metric,
            "status": np.where(scored, "scored", "unscored"),
            "value": np.where(scored, value, np.nan),
            "weight": 1.0,
        }
    )


@pytest.mark.parametrize(("n", "talks"), [(1, 1), (40, 5), (3000, 400), (60_000, 30_000)])
def test_the_same_figures(n: int, talks: int, tmp_path: Path) -> None:
    table = rows(n, talks, n)
    half = n // 2
    table[:half].to_parquet(tmp_path / "a.parquet", row_group_size=max(1, n // 7))
    table[half:].to_parquet(tmp_path / "b.parquet", row_group_size=max(1, n // 5))
    found = figures([tmp_path / "a.parquet", tmp_path / "b.parquet"], PERIOD)
    talks_of, _ = pd.factorize(table["cluster"].fillna(table["trace_id"]))
    expected = gather(
        table,
        talks_of,
        {},
        DEPARTMENTS,
        [MetricRules(m, lambda _: 0.7, lambda _: True, indicative=False) for m in METRICS],
        PERIOD,
        VerdictRules(30, 0.1),
        "digest",
    )
    by_name = {(a.department, a.metric): a for a in expected if a.n_scored}
    assert {(f.department, f.metric) for f in found} == set(by_name)
    for f in found:
        a = by_name[f.department, f.metric]
        assert (f.n_scored, f.mean, f.p5, f.min) == (a.n_scored, a.mean, a.p5, a.min)
        assert (f.ci_low, f.ci_high) == (a.ci_low, a.ci_high)


def test_an_empty_month_has_no_figures(tmp_path: Path) -> None:
    rows(5, 2, 1)[:0].to_parquet(tmp_path / "a.parquet")
    assert figures([tmp_path / "a.parquet"], PERIOD) == []


def test_a_changed_byte_is_found_or_changes_no_figure(tmp_path: Path) -> None:
    """The store writes a checksum a page: a flipped bit of a page is one line, never another figure."""
    path = tmp_path / "a.parquet"
    rows(3000, 400, 2).to_parquet(path, compression="zstd", write_page_checksum=True)
    whole, content = figures([path], PERIOD), path.read_bytes()
    chance = random.Random(5)  # noqa: S311 - places of flips, not a secret
    found = 0
    for _ in range(60):
        at = chance.randrange(4, len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :])
        try:
            assert figures([path], PERIOD) == whole
        except DamagedTableError:
            found += 1
    assert found >= 30


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all"])
def test_what_is_no_parquet_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(DamagedTableError, match=r"^a\.parquet : "):
        figures([path], PERIOD)
