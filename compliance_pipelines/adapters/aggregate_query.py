"""Figures by department and metric straight from Parquet, for months too large for a frame: one DuckDB query.

The same figures as core.aggregates for what is counted here: N, mean, p5 (linear interpolation), minimum, share below,
Wilson's interval of proportions and, above `statistics.BOOTSTRAP_CLUSTERS` conversations, the cluster-robust interval.
Smaller groups get their interval from the bootstrap of core.statistics; this query leaves it None.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from compliance_pipelines.core import statistics

# scored values are gathered by conversation first: traces of one conversation are not independent
_QUERY = """
WITH scored AS (
  SELECT department, metric, value, COALESCE(cluster, trace_id) AS cluster
  FROM read_parquet($files) WHERE status = 'scored'),
conversations AS (
  SELECT department, metric, sum(value) AS total, count(*) AS size FROM scored GROUP BY department, metric, cluster),
means AS (
  SELECT department, metric, count(*) AS k, sum(size) AS n, sum(total) AS total,
         sum(total * total) AS tt, sum(total * size) AS ts, sum(size * size) AS ss
  FROM conversations GROUP BY department, metric),
spread AS (
  SELECT department, metric, quantile_cont(value, 0.05) AS p5, min(value) AS low FROM scored GROUP BY department, metric)
SELECT m.department, m.metric, m.n, m.k, m.total, m.tt, m.ts, m.ss, s.p5, s.low
FROM means m JOIN spread s USING (department, metric) ORDER BY m.department, m.metric
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """One department and metric. `ci_*` are None where the bootstrap decides, or a single conversation shows no spread."""

    department: str
    metric: str
    n_scored: int
    n_clusters: int
    mean: float
    p5: float
    min: float
    ci_low: float | None
    ci_high: float | None


def figures(files: Sequence[Path], binary: Collection[str], memory: str = "512MB", threads: int = 2) -> list[Figures]:
    """Figures over Parquet `files` with columns trace_id, cluster (nullable), department, metric, status, value.

    binary: metrics that are proportions. `memory` is DuckDB's limit; beyond it, it spills to disk.
    """
    import duckdb

    with duckdb.connect(config={"memory_limit": memory, "threads": threads}) as db:
        rows = db.execute(_QUERY, {"files": [str(path) for path in files]}).fetchall()
    return [_figures(row, row[1] in binary) for row in rows]


def _figures(row: tuple, proportion: bool) -> Figures:
    department, metric, n, k, total, tt, ts, ss, p5, low = row
    n, mean = int(n), total / int(n)
    interval = None
    if proportion:
        interval = statistics.wilson(round(total), n)
    elif k > statistics.BOOTSTRAP_CLUSTERS:
        squares = max(0.0, tt - 2 * mean * ts + mean * mean * float(ss))
        half = statistics.Z95 * (k / (k - 1) * squares) ** 0.5 / n
        interval = max(0.0, mean - half), min(1.0, mean + half)
    low_end, high_end = interval or (None, None)
    return Figures(department, metric, n, int(k), mean, p5, low, low_end, high_end)
