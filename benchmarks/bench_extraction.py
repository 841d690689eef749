"""How fast and in how much memory a day of Langfuse rows is read, beside a plain loop of the `langfuse` client.

`python benchmarks/bench_extraction.py` starts the stand-in in a process of its own (30 ms a page, rows shaped like
recorded ones, about 3 kB each), reads the same day with each reader in a fresh process, and prints rows/s and the
peak memory of the reading process. Pages are warmed up first, so that the server's own work is not what is measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "compliance_pipelines_tests" / "fixtures" / "langfuse" / "recorded"
DAY = date(2026, 6, 2)
START = datetime(2026, 6, 1, 22, tzinfo=UTC)
FIELDS = "core,basic,time,io,metadata,model,trace_context"


def serve(rows: int, latency: float, mode: str) -> None:
    """Fill a stand-in with `rows` observations of one Paris day and serve until killed."""
    from compliance_pipelines_tests.standins.langfuse import LangfuseStandIn
    from compliance_pipelines_tests.standins.langfuse_rows import instant

    page = json.loads(gzip.decompress((RECORDED / "v2-observations-p02.json.gz").read_bytes()))
    templates = page["response"]["data"]
    generations = [row for row in templates if row["type"] == "GENERATION"]
    events = [row for row in templates if row["type"] == "EVENT"]
    with LangfuseStandIn(mode, cache_pages=True, keep_requests=10) as server:
        made = []
        for number in range(rows):
            call, event = divmod(number, 2)
            template = (events if event else generations)[call % len(events if event else generations)]
            at = instant(START + timedelta(hours=24) * (call / max(1, rows // 2)))
            row = template | {"id": f"{number:016x}", "traceId": f"{call:032x}", "startTime": at, "createdAt": at}
            if not event:
                row["metadata"] = template["metadata"] | {"litellm_call_id": f"call-{call}"}
            made.append(row)
        server.store.put_observations(made)
        server.faults.latency = latency
        print(json.dumps([server.url, server.public_key, server.secret_key]), flush=True)
        sys.stdin.read()


def plain(url: str, public: str, secret: str, limit: int) -> int:
    """The loop a user of the client would write."""
    from langfuse import Langfuse

    client = Langfuse(public_key=public, secret_key=secret, base_url=url, tracing_enabled=False)
    cursor, rows = None, 0
    while True:
        page = client.api.observations.get_many(
            from_start_time=START, to_start_time=START + timedelta(days=1), fields=FIELDS, limit=limit, cursor=cursor
        )
        rows += len(page.data)
        cursor = page.meta.cursor
        if cursor is None:
            return rows


def ours(url: str, public: str, secret: str, at_once: int, *, assembled: bool) -> int:
    """Our reader: rows typed and grouped by trace, or (`assembled`) all the way to exchanges."""
    from compliance_pipelines.adapters import langfuse_api
    from compliance_pipelines.adapters.langfuse_api import ApiReader
    from compliance_pipelines.adapters.langfuse_api_http import Server
    from compliance_pipelines.core.extraction import ReadReport

    if not assembled:
        # the client's loop ends with typed rows, of which it keeps a page; so does this measure
        vars(langfuse_api)["exchanges"] = lambda rows, *_: deque(rows, maxlen=0)
    report = ReadReport()
    with (
        tempfile.TemporaryDirectory() as folder,
        ApiReader(
            Server(url, public, secret),
            Path(folder),
            lambda *_: ("direction-it", "stamp"),
            b"k",
            windows_at_once=at_once,
        ) as reader,
    ):
        for _ in reader.trace_chunks(DAY, DAY, report):
            pass
    return report.totals(DAY, DAY)["observations"]


READERS: dict[str, Callable[[str, str, str], int]] = {
    "client, pages of 50 (its default)": lambda *server: plain(*server, 50),
    "client, pages of 1000": lambda *server: plain(*server, 1000),
    "ours, one window after the other": lambda *server: ours(*server, 1, assembled=False),
    "ours, four windows at once": lambda *server: ours(*server, 4, assembled=False),
    "ours, four windows, to exchanges": lambda *server: ours(*server, 4, assembled=True),
}


def child(name: str, server: list[str]) -> None:
    """Run one reader in this process: the first run makes the server's pages, which are bytes from then on; the best of
    the next four is measured, for all readers alike.
    """
    url, public, secret = server
    rows, wall, cpu = 0, float("inf"), float("inf")
    for number in range(5):
        began, busy = time.perf_counter(), time.process_time()
        rows = READERS[name](url, public, secret)
        if number:
            wall, cpu = min(wall, time.perf_counter() - began), min(cpu, time.process_time() - busy)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": rows, "seconds": wall, "cpu_us": cpu / rows * 1e6, "peak_mb": peak}))


def measure(rows: int, names: list[str], latency: float) -> dict[str, dict[str, float]]:
    """Start a server with `rows` rows and run each reader against it in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LANGFUSE_TRACING_ENABLED": "false"}
    command = [sys.executable, __file__]
    with subprocess.Popen(  # noqa: S603  this very file
        [*command, "--serve", str(rows), "--latency", str(latency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline()
        found = {}
        try:
            for name in names:
                done = subprocess.run(  # noqa: S603  this very file
                    [*command, "--child", name, "--server", address],
                    capture_output=True,
                    text=True,
                    env=environment,
                    check=True,
                )
                found[name] = json.loads(done.stdout)
        finally:
            server.kill()
    return found


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=200_000, help="rows of the memory comparison, 0 to leave it out")
    parser.add_argument("--latency", type=float, default=0.03, help="seconds a page")
    parser.add_argument("--serve", type=int)
    parser.add_argument("--child")
    parser.add_argument("--server")
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.latency, "events_only")
        return
    if given.child:
        child(given.child, json.loads(given.server))
        return
    small = measure(given.rows, list(READERS), given.latency)
    base = small["client, pages of 1000"]
    print(f"{given.rows} rows, {given.latency * 1000:.0f} ms a page")
    for name, got in small.items():
        rate = got["rows"] / got["seconds"]
        ratio = rate / (base["rows"] / base["seconds"])
        print(
            f"  {name:36} {rate:9.0f} rows/s  {ratio:5.1f} x  {got['cpu_us']:5.0f} µs CPU/row {got['peak_mb']:5.0f} MB"
        )
    if given.large:
        last = "ours, four windows, to exchanges"
        large = measure(given.large, [last], given.latency)[last]
        growth = large["peak_mb"] - small[last]["peak_mb"]
        rate = large["rows"] / large["seconds"]
        print(f"{given.large} rows: {rate:.0f} rows/s, {large['peak_mb']:.0f} MB ({growth:+.0f} MB)")


if __name__ == "__main__":
    main()
