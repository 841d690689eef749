"""Neutrality by the judge inside Dagster: metric, statuses, cache over runs, withheld nights, the lexical default."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.records import Judgement, Trace
from compliance_pipelines.core.tables import frame, records
from compliance_pipelines.io_manager import ParquetIOManager
from compliance_pipelines.resources import JudgeResource, PolicyResource, judge_from_env
from compliance_pipelines.settings import SettingsError
from compliance_pipelines_tests.dagster_runs import materialize as kept_materialize
from compliance_pipelines_tests.standins.llm import LlmStub, judging
from compliance_pipelines_tests.standins.llm_minds import gullible

with warnings.catch_warnings():
    # backfill_policy is in beta; Dagster says so once, when an asset is defined
    warnings.simplefilter("ignore", dg.BetaWarning)
    from compliance_pipelines.defs.evaluation import judge_assets

DAY = "2026-06-02"
DEPARTMENTS = ("direction-sinistres", "direction-it")


def trace(n: int, **changes: object) -> Trace:
    when = datetime(2026, 6, 2, 8, tzinfo=UTC) + timedelta(minutes=n)
    start = "Oui, vous avez raison :" if n % 4 == 0 else "D’après la page 3,"
    parts: dict[str, object] = {
        "trace_id": f"t{n}", "observed_at": when, "created_at": when, "session_hash": f"s{n}",
        "department": DEPARTMENTS[n % 2], "department_source": "stamp", "model": "m", "alias": None,
        "question": f"La franchise du dossier {n} est nulle, n’est-ce pas ?",
        "answer": f"{start} la franchise du dossier {n} est de {n} €.",
        "contexts": (f"Page 3. Franchise du dossier {n} : {n} €.",), "retrieval_score": 0.8, "flagged": n == 1,
        "delivered": "unchanged", "environment": "production", "source": "export", "row_digest": f"d{n}",
    }  # fmt: skip
    return Trace(**{**parts, **changes})  # type: ignore[arg-type]


TRACES = [
    *(trace(n) for n in range(40)),
    trace(50, answer=None),
    trace(51, question=None),
    trace(52, contexts=()),
    trace(53, contexts=("x" * 70_000,)),
    trace(54, question=trace(2).question, answer=trace(2).answer, contexts=trace(2).contexts),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    table = frame(TRACES, Trace)
    table.attrs["counts"] = {}
    TableStore(tmp_path / "data").write(("langfuse", "traces"), DAY, table)
    return tmp_path


def run(home: Path, judge: JudgeResource) -> tuple[list[Judgement], dict[str, bool]]:
    source = dg.AssetSpec(key=dg.AssetKey(["langfuse", "traces"]), partitions_def=judge_assets.daily)
    checks = [judge_assets.judge_reads_its_anchors_right, judge_assets.few_traces_are_left_unscored]
    result = kept_materialize(
        [judge_assets.neutrality_asset, source, *checks],
        partition_key=DAY,
        resources={
            "io_manager": ParquetIOManager(home=str(home)),
            "policy": PolicyResource(),
            "judge": judge,
        },
    )
    table = TableStore(home / "data").read(("evaluation", "neutrality"), DAY)
    passed = {e.check_name: e.passed for e in result.get_asset_check_evaluations()}
    return records(table, Judgement), passed


def at(stub: LlmStub, home: Path) -> JudgeResource:
    return JudgeResource(home=str(home), base_url=stub.url, model=stub.model, patience=0.1)


def test_a_judged_night_gives_every_trace_a_row_with_its_reason(home: Path) -> None:
    with LlmStub() as stub:
        rows, passed = run(home, at(stub, home))
        by_id = {row.trace_id: row for row in rows}
        assert {row.metric for row in rows} == {"judge_neutrality"}
        assert len(rows) == len(TRACES)
        assert (by_id["t4"].value, by_id["t6"].value) == (0.15, 0.95)
        assert by_id["t1"].weight == 2.0
        assert {k: by_id[k].reason for k in ("t50", "t51", "t52")} == {
            "t50": "no_answer", "t51": "no_question", "t52": "no_context",
        }  # fmt: skip
        assert (by_id["t53"].status.value, by_id["t53"].reason) == ("unscored", "too_long")
        # the low-risk department is sampled, the critical one is not
        assert {r.department for r in rows if r.status.value == "not_sampled"} <= {"direction-it"}
        assert all(r.evaluator.startswith("judge/juge-test/sha256:aaaa") for r in rows)
        assert passed == {"judge_reads_its_anchors_right": True, "few_traces_are_left_unscored": True}
        sent = len(stub.requests)
        again, _ = run(home, at(stub, home))
        assert again == rows
        assert len(stub.requests) == sent


def test_a_night_whose_anchors_fail_is_withheld_then_judged_again(home: Path) -> None:
    with LlmStub(behave=judging(gullible)) as stub:
        rows, passed = run(home, at(stub, home))
        assert {row.value for row in rows} == {None}
        statuses = Counter((row.status.value, row.reason) for row in rows)
        assert statuses["withheld", "anchors_failed"] > 25
        assert passed["judge_reads_its_anchors_right"] is False
        stub.behave = judging()
        mended, passed = run(home, at(stub, home))
        assert not any(row.status.value == "withheld" for row in mended)
        assert passed["judge_reads_its_anchors_right"] is True


def test_a_judge_that_is_down_leaves_the_night_unscored_and_never_lexical(home: Path) -> None:
    with LlmStub() as stub:
        resource = at(stub, home)
    rows, passed = run(home, resource)
    assert {row.metric for row in rows} == {"judge_neutrality"}
    assert {row.value for row in rows} == {None}
    assert "judge_unavailable" in {row.reason for row in rows}
    assert passed["few_traces_are_left_unscored"] is False


def test_without_a_judge_the_lexical_evaluator_serves_under_its_own_name(home: Path) -> None:
    rows, _ = run(home, JudgeResource(home=str(home)))
    assert {row.metric for row in rows} == {"lexical_neutrality"}


def test_the_environment_decides_and_wrong_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not judge_from_env(str(tmp_path)).configured
    monkeypatch.setenv("JUDGE_BASE_URL", "http://juge:11434/v1/")
    with pytest.raises(SettingsError, match="JUDGE_MODEL manque"):
        judge_from_env(str(tmp_path))
    monkeypatch.setenv("JUDGE_MODEL", "llama3.2:3b")
    monkeypatch.setenv("JUDGE_API_KEY", "clef-tres-secrete")
    found = judge_from_env(str(tmp_path))
    assert (found.base_url, found.model) == ("http://juge:11434/v1", "llama3.2:3b")
    assert "clef-tres-secrete" not in repr(found) + repr(found.session())
    monkeypatch.setenv("JUDGE_BASE_URL", "juge:11434")
    with pytest.raises(SettingsError, match="JUDGE_BASE_URL inutilisable"):
        judge_from_env(str(tmp_path))


def test_nothing_that_was_said_reaches_the_log(home: Path) -> None:
    said: list[str] = []
    with LlmStub() as stub:
        days = judge_assets.Days(TableStore(home / "data"), ("langfuse", "traces"), (DAY,))
        list(judge_assets.judged_nights(days, PolicyResource(), at(stub, home), said.append))
    assert any("à relire : " in line for line in said)
    assert not any(word in " ".join(said) for word in ("franchise", "dossier", "Oui"))
    assert date.fromisoformat(DAY).isoformat() in " ".join(said)


def materialize(home: Path, judge: JudgeResource, asset: dg.AssetsDefinition) -> dg.ExecuteInProcessResult:
    source = dg.AssetSpec(key=dg.AssetKey(["langfuse", "traces"]), partitions_def=judge_assets.daily)
    resources = {"io_manager": ParquetIOManager(home=str(home)), "policy": PolicyResource(), "judge": judge}
    return kept_materialize([asset, source], partition_key=DAY, resources=resources)


@pytest.mark.parametrize("name", ["ragas", "sycophancy_probes"])
def test_without_a_judge_ragas_and_probes_write_nothing_and_say_so(home: Path, name: str) -> None:
    asset = {"ragas": judge_assets.ragas_asset, "sycophancy_probes": judge_assets.probes_asset}[name]
    result = materialize(home, JudgeResource(home=str(home)), asset)
    assert not TableStore(home / "data").has(("evaluation", name), DAY)
    metadata = result.asset_materializations_for_node(f"evaluation__{name}")[0].metadata
    assert metadata["non calculé"].value == "aucun juge configuré"


def test_probes_flip_where_the_assistant_follows_the_question(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_CI_KEY", "cle-de-test")

    def follower(request: dict) -> str:
        question = request["messages"][-1]["content"].rpartition("Question : ")[2]
        return "Oui." if question.endswith(("confirmez-le.", "d’accord ?", "c’est acquis ?")) else "Non."

    with LlmStub() as judge, LlmStub(behave=judging(follower), key="cle-de-test") as gateway:
        resource = JudgeResource(
            home=str(home), base_url=judge.url, model=judge.model, assistants_url=gateway.url, patience=0.1
        )
        materialize(home, resource, judge_assets.probes_asset)
        rows = records(TableStore(home / "data").read(("evaluation", "sycophancy_probes"), DAY), Judgement)
        assert len(rows) == 11 * 3
        assert {row.metric for row in rows} == {"sycophancy_flip"}
        assert {row.value for row in rows} == {0.0, 1.0}
        asked, read = len(gateway.requests), len(judge.requests)
        assert asked == read == len({r["messages"][0]["content"] for r in gateway.requests})
        assert {r["model"] for r in gateway.requests} >= {"claims-assistant", "finance-assistant"}
        materialize(home, resource, judge_assets.probes_asset)
        assert (len(gateway.requests), len(judge.requests)) == (asked, read)
