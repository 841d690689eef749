"""Ten million score rows to mean, p5, minimum and interval by department and metric: streamed, beside pandas.

Both read the same Parquet file in a process of their own; CPU is user plus system time of that process, memory its
highest resident set, imports included. Both give the same figures, which is asserted. Target: a third of pandas.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

# the name under which a child process finds this module, also when this one runs as __main__
NAME = "benchmarks.bench_aggregates"
PERIOD = (datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
ROWS, DEPARTMENTS, METRICS, PART = 10_000_000, 15, 30, 1_000_000


def write(path: Path) -> None:
    """A month of 10 million scored rows, about 2.5 a conversation, in 450 groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20260630)
    departments = pa.array([f"direction-{k:02d}" for k in range(DEPARTMENTS)])
    metrics = pa.array([f"metric_{k:02d}" for k in range(METRICS)])
    writer = None
    for start in range(0, ROWS, PART):
        conversation = rng.integers(start // 75, start // 75 + PART // 75, PART)
        department = pa.DictionaryArray.from_arrays((conversation % DEPARTMENTS).astype(np.int32), departments)
        metric = pa.DictionaryArray.from_arrays(rng.integers(0, METRICS, PART).astype(np.int32), metrics)
        table = pa.table(
            {
                "trace_id": pa.array(np.arange(start, start + PART)).cast(pa.string()),
                "cluster": pa.array(conversation).cast(pa.string()),
                "department": department.cast(pa.string()),
                "metric": metric.cast(pa.string()),
                "status": pa.array(["scored"] * PART),
                "value": rng.beta(8, 2, PART),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def with_stream(path: Path) -> dict[str, list[float | None]]:
    """The figures by the streaming adapter."""
    from compliance_pipelines.adapters.aggregate_stream import figures

    found = figures([path], PERIOD)
    return {f"{f.department} {f.metric}": [f.mean, f.p5, f.min, f.ci_low, f.ci_high] for f in found}


def with_pandas(path: Path) -> dict[str, list[float | None]]:
    """The same by pandas, as one would write it: columns needed only, two groupings."""
    import pandas as pd

    table = pd.read_parquet(path, columns=["cluster", "department", "metric", "status", "value"])
    table = table[table["status"] == "scored"]
    by = ["department", "metric"]
    groups = table.groupby(by)["value"]
    out = pd.DataFrame({"mean": groups.mean(), "p5": groups.quantile(0.05), "min": groups.min(), "n": groups.size()})
    talks = table.groupby([*by, "cluster"])["value"].agg(["sum", "size"]).reset_index()
    talks = talks.merge(out[["mean"]].reset_index(), on=by)
    talks["r2"] = (talks["sum"] - talks["mean"] * talks["size"]) ** 2
    spread = talks.groupby(by)["r2"].agg(["sum", "size"])
    half = 1.959963984540054 * np.sqrt(spread["size"] / (spread["size"] - 1) * spread["sum"]) / out["n"]
    few = spread["size"] <= 5000
    low = (out["mean"] - half).clip(lower=0).mask(few)
    high = (out["mean"] + half).clip(upper=1).mask(few)
    return {
        f"{key[0]} {key[1]}": [float(v) if v == v else None for v in values]  # noqa: PLR0124  not a number
        for key, *values in zip(out.index, out["mean"], out["p5"], out["min"], low, high, strict=True)
    }


def measured(way: str, path: Path) -> tuple[float, float, dict[str, list[float | None]]]:
    """CPU seconds, peak MB and figures of one way in a fresh process."""
    done = subprocess.run([sys.executable, "-m", NAME, way, str(path)], check=True, capture_output=True)  # noqa: S603
    found = json.loads(done.stdout)
    return found["cpu"], found["mb"], found["figures"]


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "month.parquet"
        write(path)
        cpu, mb, ours = measured("stream", path)
        their_cpu, their_mb, theirs = measured("pandas", path)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        for one, other in zip(values, theirs[name], strict=True):
            assert (one is None) == (other is None), name
            assert one is None or other is None or abs(one - other) < 1e-9, name
    print(f"{ROWS:,} rows, {len(ours)} groups; figures agree to 1e-9")
    print(f"stream  {cpu:6.1f} s CPU {mb:7.0f} MB")
    print(f"pandas  {their_cpu:6.1f} s CPU {their_mb:7.0f} MB")
    print(f"ratio   {cpu / their_cpu:6.2f}       {mb / their_mb:7.2f}      (target 0.33 of each)")


def _child(way: str, path: str) -> None:
    figures = (with_stream if way == "stream" else with_pandas)(Path(path))
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu, mb = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    sys.stdout.write(json.dumps({"cpu": cpu, "mb": mb, "figures": figures}))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _child(sys.argv[1], sys.argv[2])
    else:
        main()
