"""Gauges to a Pushgateway, or to a file that node_exporter's textfile collector reads when none is configured.

A push replaces its whole group, so a department that is gone leaves no stale value. What goes out is core.gauges' text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import httpx

from compliance_pipelines.adapters.whole_file import replace_file
from compliance_pipelines.core.gauges import Sample, exposition

_TAKEN = 300


class GaugesError(RuntimeError):
    """The gauges could not be handed over; one French line."""


class Pushgateway:
    """A client of the Pushgateway at `url`. Seconds."""

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        self._url, self._timeout = url.rstrip("/"), timeout

    def push(self, job: str, samples: Sequence[Sample]) -> None:
        """Replace the group of `job`; raises GaugesError."""
        address = f"{self._url}/metrics/job/{quote(job, safe='')}"
        try:
            answer = httpx.put(address, content=exposition(samples).encode(), timeout=self._timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as failed:
            raise GaugesError(f"Pushgateway ne répond pas ({type(failed).__name__})") from failed
        if answer.status_code >= _TAKEN:
            raise GaugesError(f"Pushgateway répond {answer.status_code}")


class TextFiles:
    """One `<job>.prom` file a job in `folder`, replaced atomically; the job becomes a label."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def push(self, job: str, samples: Sequence[Sample]) -> None:
        """Replace the file of `job`; raises GaugesError."""
        labelled = [Sample(s.name, (*s.labels, ("job", job)), s.value) for s in samples]
        path = self._folder / f"{quote(job, safe='')}.prom"
        try:
            replace_file(path, exposition(labelled).encode())
        except OSError as failed:
            raise GaugesError(f"{path} : écriture impossible ({failed.strerror})") from failed
