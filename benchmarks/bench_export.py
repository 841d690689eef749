"""Reading a large export: peak memory and rows a second, beside `pandas.read_json(lines=True)` on the same file.

The export is the shipped month written again and again under other ids: 256 MB for both, then 2 GB for the reader.
Each measurement is a process of its own; memory is its peak resident set.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compliance_pipelines.settings import sample_export

OURS = """
import sys, time
from datetime import date
from pathlib import Path
from compliance_guardrails.policy import load_policy
from compliance_pipelines.adapters.langfuse_export import ExportReader, ReadReport
from compliance_pipelines.core.periods import Month
policy, report = load_policy(), ReadReport()
reader = ExportReader(Path(sys.argv[1]), Path(sys.argv[2]), policy.resolve_department, b"k")
days = Month.parse("2026-06").days()
traces = sum(len(rows) for _, rows in reader.trace_days(days, report))
print(report.totals(days[0], days[-1])["rows"], traces)
"""
PANDAS = """
import sys
import pandas
print(len(pandas.read_json(next(__import__("pathlib").Path(sys.argv[1]).glob("*.jsonl")), lines=True)), 0)
"""


def _write(folder: Path, megabytes: int) -> None:
    lines = []
    for path in sorted((sample_export() / "2026-06").glob("observations-*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as rows:
            lines += rows.readlines()
    written, copy = 0, 0
    with (folder / "observations.jsonl").open("w", encoding="utf-8") as out:
        while written < megabytes * 1_000_000:
            for line in lines:
                # the first 32 hexadecimal digits of the trace id and the row id change with each copy
                line = line.replace('"traceId":"', f'"traceId":"{copy:04x}', 1)  # noqa: PLW2901
                written += out.write(line.replace('"id":"', f'"id":"{copy:04x}', 1))
            copy += 1


def _measure(code: str, folder: Path) -> tuple[int, float, float]:
    wrapped = code + "\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    started = time.perf_counter()
    done = subprocess.run(  # noqa: S603  our own code in a fresh interpreter
        [sys.executable, "-W", "ignore", "-c", wrapped, str(folder), str(folder / "scratch")],
        capture_output=True,
        text=True,
        check=True,
    )
    counts, memory = done.stdout.strip().splitlines()
    return int(counts.split()[0]), time.perf_counter() - started, float(memory)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, 256)
        rows, seconds, memory = _measure(OURS, folder)
        print(f"256 MB: {rows} rows, {rows / seconds:,.0f} rows/s, peak {memory:.0f} MB")
        other_rows, other_seconds, other_memory = _measure(PANDAS, folder)
        print(f"   pandas.read_json: {other_rows / other_seconds:,.0f} rows/s, peak {other_memory:.0f} MB")
        print(f"   memory ratio {memory / other_memory:.2f} (reads, joins and attributes; pandas only reads)")
        _write(folder, 2000)
        rows, seconds, memory = _measure(OURS, folder)
        print(f"2 GB: {rows} rows, {rows / seconds:,.0f} rows/s, peak {memory:.0f} MB (aim: at most 600)")


if __name__ == "__main__":
    main()
