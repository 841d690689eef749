"""In process, on a small month, what `make demo` does: nights, figures, report, archive, verification, re-run."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines import runs
from compliance_pipelines.adapters.policy_texts import texts_in_force
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.periods import Month
from compliance_pipelines.core.policy_archive import policy_json
from compliance_pipelines.core.records import Aggregate, Judgement, Status, Trace, Verdict
from compliance_pipelines.core.tables import records
from compliance_pipelines.core.verify import verify_month
from compliance_pipelines.reporting import bundle_folder
from compliance_pipelines.resources import ArchiveResource, verification_tools
from compliance_pipelines.sample.generate import generate

MONTH = Month.parse("2026-06")
TRACES = 400
LATE = {
    "id": "late-1", "traceId": "f" * 32, "type": "GENERATION", "name": "litellm", "level": "DEFAULT",
    "startTime": "2026-06-30T20:00:00Z", "createdAt": "2026-07-01T04:00:01Z", "environment": "production",
    "input": json.dumps({"messages": [{"role": "user", "content": "Quelle franchise ?"}]}), "output": "150 €",
    "metadata": {"compliance_department": "direction-rh"}, "tags": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    generate(folder, "2026-06", TRACES, 11)
    # one exchange of the month reaches the server after the report's data cut-off
    (folder / "late.jsonl").write_text(json.dumps(LATE) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def home(export: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the month was run once, through Dagster, on its own instance."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        _environment(patch, home, export)
        runs.run_nights(MONTH, lambda *_: None)
        runs.run_report(MONTH, lambda *_: None)
    return home


@pytest.fixture
def environment(home: Path, export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _environment(monkeypatch, home, export)


def _environment(patch: pytest.MonkeyPatch, home: Path, export: Path) -> None:
    patch.setenv("COMPLIANCE_HOME", str(home))
    patch.setenv("LANGFUSE_EXPORT", str(export))
    patch.delenv("DAGSTER_HOME", raising=False)
    runs.dagster_home(home)


def aggregates(home: Path) -> dict[tuple[str, str], Aggregate]:
    rows = records(TableStore(home / "data").read(("department", "monthly"), "2026-06-01"), Aggregate)
    return {(row.department, row.metric): row for row in rows}


def all_of(home: Path, key: tuple[str, str], kind: type) -> list[object]:
    store = TableStore(home / "data")
    days = [day.isoformat() for day in MONTH.days()]
    return [row for _, table in store.read_many(key, days) for row in records(table, kind)]


def test_every_trace_of_the_month_is_read_once(home: Path, export: Path) -> None:
    import gzip

    with gzip.open(next(export.rglob("truth.jsonl.gz")), "rt", encoding="utf-8") as lines:
        truth = [json.loads(line) for line in lines]
    traces = all_of(home, ("langfuse", "traces"), Trace)
    expected = {row["trace_id"]: row["department"] for row in truth} | {LATE["traceId"]: "direction-rh"}
    assert sorted(t.trace_id for t in traces) == sorted(expected)
    assert {t.trace_id: t.department for t in traces} == expected


def test_the_month_counts_what_its_rows_say(home: Path) -> None:
    traces = [t for t in all_of(home, ("langfuse", "traces"), Trace) if t.created_at <= MONTH.scheduled_at]
    kept = {t.trace_id for t in traces}
    judged = [j for j in all_of(home, ("evaluation", "citations"), Judgement) if j.trace_id in kept]
    found = aggregates(home)
    assert sum(row.n_scored for (_, metric), row in found.items() if metric == "citation_compliance") > 0
    for (department, metric), row in found.items():
        assert row.n_traces == sum(t.department == department for t in traces)
        if metric == "citation_compliance":
            values = [
                j.value
                for j in judged
                if (j.department, j.metric) == (department, metric) and j.status is Status.SCORED
            ]
            assert row.n_scored == len(values)
            assert row.mean == (pytest.approx(sum(values) / len(values)) if values else None)


def test_late_rows_wait_for_a_revision(home: Path) -> None:
    traces = all_of(home, ("langfuse", "traces"), Trace)
    late = [t for t in traces if t.created_at > MONTH.scheduled_at]
    assert LATE["traceId"] in {t.trace_id for t in late}
    assert sum(row.n_traces for (_, metric), row in aggregates(home).items() if metric == "human_oversight") == len(
        traces
    ) - len(late)


def test_a_lexical_figure_never_reads_conforming(home: Path) -> None:
    verdicts = {row.verdict for (_, metric), row in aggregates(home).items() if metric == "lexical_neutrality"}
    assert verdicts <= {Verdict.INDICATIF, Verdict.INSUFFISANT}
    assert Verdict.INDICATIF in verdicts


@pytest.mark.usefixtures("environment")
def test_the_archived_report_verifies(home: Path) -> None:
    found = verify_month(ArchiveResource(home=str(home)).open(), "2026-06", verification_tools())
    assert found.verdict == "VALIDE", found.lines_fr()


@pytest.mark.usefixtures("environment")
def test_an_unchanged_second_run_makes_no_new_version_and_the_same_bytes(home: Path) -> None:
    before = {path.name: path.read_bytes() for path in bundle_folder(home, MONTH).iterdir()}
    assert runs.nights_unchanged(MONTH)
    runs.run_nights(MONTH, lambda *_: None)
    runs.run_report(MONTH, lambda *_: None)
    assert {path.name: path.read_bytes() for path in bundle_folder(home, MONTH).iterdir()} == before
    assert [e.revision for e in ArchiveResource(home=str(home)).open().list_revisions()] == [1]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(("name", "value"), [("JUDGE_BASE_URL", "http://j"), ("LANGFUSE_BASE_URL", "http://l")])
def test_nights_of_a_server_or_a_judge_are_never_taken_as_they_are(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.delenv("LANGFUSE_EXPORT")
    monkeypatch.setenv(name, value)
    assert not runs.nights_unchanged(MONTH)


def test_the_printed_report_names_every_department_and_says_it_is_indicative(home: Path) -> None:
    import io

    from pypdf import PdfReader

    content = (bundle_folder(home, MONTH) / "bias-report-2026-06.pdf").read_bytes()
    text = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages)
    assert "indicatif, sans LLM" in text
    assert "non signé" in text.lower()
    for label in ("Sinistres", "Souscription", "Juridique", "Finance"):
        assert label in text


def test_no_trace_text_reaches_report_or_event_log(home: Path) -> None:
    traces = [t for t in all_of(home, ("langfuse", "traces"), Trace) if t.answer and len(t.answer) > 60]
    snippets = {t.answer[20:50].encode() for t in traces[:200]} | {
        t.question[:30].encode() for t in traces[:200] if t.question
    }
    built = {path.name: path for path in bundle_folder(home, MONTH).iterdir()}
    # the policy's own examples share turns of phrase with the traces: that file is the policy and nothing else
    policy = built.pop("policy.json").read_bytes()
    assert policy == policy_json(texts_in_force(None, MONTH.days()[-1]))
    places = [*built.values(), *(path for path in (home / "dagster").rglob("*") if path.is_file())]
    leaks = [path.name for path in places for snippet in snippets if snippet in path.read_bytes()]
    assert leaks == []


def test_three_schedules_and_an_owner_for_each_asset() -> None:
    from compliance_pipelines.definitions import build_defs

    definitions = build_defs()
    graph = definitions.resolve_asset_graph()
    assert all(graph.get(key).owners for key in graph.get_all_asset_keys())
    schedules = definitions.get_repository_def().schedule_defs
    assert {s.name: s.cron_schedule for s in schedules} == {
        "nightly": "30 1 * * *",
        "monthly_report": "0 4 1 * *",
        "weekly_counterfactual": "0 3 * * 1",
    }


def test_the_report_schedule_waits_for_the_last_night(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    from compliance_pipelines.defs import keys
    from compliance_pipelines.defs.schedules import monthly_report

    due = datetime(2026, 7, 1, 4, tzinfo=UTC)
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance:
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=due)
        assert isinstance(monthly_report(context), dg.SkipReason)
        instance.report_runless_asset_event(
            dg.AssetMaterialization(asset_key=keys.DEPARTMENT_DAILY, partition="2026-06-30")
        )
        request = monthly_report(context)
        assert isinstance(request, dg.RunRequest)
        assert (request.partition_key, request.run_key) == ("2026-06-01", "report-2026-06")
