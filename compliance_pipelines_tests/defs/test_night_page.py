"""The page that an alert on a night opens: the night's figures by department, links to their traces in Langfuse."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.tables import records
from compliance_pipelines.definitions import build_defs
from compliance_pipelines.defs import keys
from compliance_pipelines.sample.generate import generate

DAY = "2026-06-10"
NIGHT = (
    keys.TRACES,
    keys.SCORES,
    keys.NEUTRALITY,
    keys.CITATIONS,
    keys.FIGURE_GROUNDING,
    keys.RAGAS,
    keys.DEPARTMENT_DAILY,
)


def test_a_night_shows_its_figures_also_when_it_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(tmp_path / "export", "2026-06", 200, 11)
    for name, value in (
        ("COMPLIANCE_HOME", tmp_path / "home"),
        ("LANGFUSE_EXPORT", tmp_path / "export"),
        ("LANGFUSE_BASE_URL", "https://langfuse.example"),
        ("LANGFUSE_PROJECT_ID", "p1"),
    ):
        monkeypatch.setenv(name, str(value))
    job = build_defs().resolve_implicit_global_asset_job_def()
    (tmp_path / "dagster").mkdir()
    with dg.instance_for_test(temp_dir=str(tmp_path / "dagster")) as instance:
        for selected in (NIGHT, NIGHT[-1:]):
            done = job.execute_in_process(instance=instance, partition_key=DAY, asset_selection=list(selected))
            assert done.success
            event = instance.get_latest_materialization_event(keys.DEPARTMENT_DAILY)
            assert event is not None
            found = event.asset_materialization
            assert found is not None
            shown = found.metadata["mesures"]
            assert isinstance(shown, dg.TableMetadataValue)
            rows = records(TableStore(tmp_path / "home" / "data").read(keys.DEPARTMENT_DAILY.path, DAY), Aggregate)
            expected = {(r.department, r.metric, r.n_traces, r.verdict.value) for r in rows if r.n_traces}
            assert expected
            columns = ("direction", "mesure", "traces", "verdict")
            assert {tuple(one.data[c] for c in columns) for one in shown.records} == expected
            links = str(found.metadata["Langfuse"].value)
            assert all(f"[{department}](https://langfuse.example/project/p1/" in links for department, *_ in expected)
