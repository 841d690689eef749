"""Which neutrality metrics a period has, whether they conclude, and what a report says of the judge and the probes."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from compliance_guardrails.policy import PolicyError

from compliance_pipelines.adapters.judge_calibration import Measured, save
from compliance_pipelines.adapters.judge_report import (
    NEUTRALITY,
    PROBES,
    identities,
    keep_identity,
    month_judge,
    sycophancy_facts,
)
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.core.calibration import Labelled, calibrate
from compliance_pipelines.core.judge_metrics import neutrality_rules, ragas_rules
from compliance_pipelines.core.judge_samples import Identity
from compliance_pipelines.core.records import Judgement, Status
from compliance_pipelines.core.tables import frame

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)
JUDGE = Identity("juge", "sha256:" + "a" * 64, "c" * 64, {"temperature": 0})
OTHER = dataclasses.replace(JUDGE, digest="sha256:" + "b" * 64)


def row(metric: str, evaluator: str, n: int = 0, value: float | None = 0.9) -> Judgement:
    status = Status.SCORED if value is not None else Status.WITHHELD
    reason = None if value is not None else "anchors_failed"
    return Judgement(f"t{n}", "direction-it", WHEN, metric, value, status, reason, evaluator, 1.0)


def stored(home: Path, key: tuple[str, str], day: str, *rows: Judgement) -> TableStore:
    store = TableStore(home / "data")
    table = frame(list(rows), Judgement)
    store.write(key, day, table)
    return store


def calibration(home: Path, identity: Identity, *, adequate: bool) -> None:
    figures = calibrate([Labelled("strong", "a"), Labelled("neutral", "b")], [0.1, 1.0])
    save(
        Measured(
            identity.fingerprint, identity.model, identity.digest, identity.prompt_sha256, "l" * 64, date(2026, 7, 1),
            adequate, figures,
        ),
        home,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "calibrated", "expected"),
    [
        ([], [], [("lexical_neutrality", True)]),
        ([row("lexical_neutrality", "l")], ["j"], [("lexical_neutrality", True)]),
        ([row("judge_neutrality", "j")], [], [("judge_neutrality", True)]),
        ([row("judge_neutrality", "j")], ["other"], [("judge_neutrality", True)]),
        ([row("judge_neutrality", "j")], ["j"], [("judge_neutrality", False)]),
        ([row("judge_neutrality", "j"), row("judge_neutrality", "k", 1)], ["j"], [("judge_neutrality", True)]),
        (
            [row("judge_neutrality", "j"), row("lexical_neutrality", "l", 1)],
            ["j"],
            [("judge_neutrality", False), ("lexical_neutrality", True)],
        ),
    ],
)
def test_a_judge_concludes_only_when_every_judge_is_calibrated(
    rows: list[Judgement], calibrated: list[str], expected: list[tuple[str, bool]]
) -> None:
    found = neutrality_rules(frame(rows, Judgement), lambda _: 0.7, calibrated)
    assert [(rule.metric, rule.indicative) for rule in found] == expected


def test_ragas_informs_where_it_was_computed() -> None:
    assert ragas_rules(frame([], Judgement)) == []
    (rule,) = ragas_rules(frame([row("ragas_faithfulness", "r")], Judgement))
    assert (rule.metric, rule.threshold("direction-it"), rule.indicative) == ("ragas_faithfulness", None, True)


def test_without_a_judge_the_lexical_evaluator_is_named(tmp_path: Path) -> None:
    store = stored(tmp_path, NEUTRALITY, "2026-06-02", row("lexical_neutrality", "lexical/1/abc"))
    found = month_judge(store, tmp_path, ["2026-06-02"], "lexical/1/abc")
    assert (found.shown.name, found.shown.llm, found.recorded.model) == ("lexical/1/abc", False, "lexical/1/abc")


def test_the_judge_of_a_month_with_digest_calibration_and_withheld_nights(tmp_path: Path) -> None:
    stored(tmp_path, NEUTRALITY, "2026-06-02", row("judge_neutrality", JUDGE.fingerprint))
    store = stored(tmp_path, NEUTRALITY, "2026-06-03", row("judge_neutrality", JUDGE.fingerprint, value=None))
    days = ["2026-06-02", "2026-06-03", "2026-06-04"]
    keep_identity(tmp_path, JUDGE)
    found = month_judge(store, tmp_path, days, "lexical")
    assert (found.shown.model, found.shown.model_digest, found.shown.prompt_sha256) == ("juge", JUDGE.digest, "c" * 64)
    assert (found.shown.calibration_fr, found.shown.withheld_nights, found.shown.llm) == (None, 1, True)
    calibration(tmp_path, JUDGE, adequate=False)
    calibrated = month_judge(store, tmp_path, days, "lexical")
    assert "insuffisant, verdicts indicatifs" in (calibrated.shown.calibration_fr or "")
    assert calibrated.recorded.calibration == calibrated.shown.calibration_fr
    stored(tmp_path, NEUTRALITY, "2026-06-04", row("judge_neutrality", OTHER.fingerprint))
    both = month_judge(store, tmp_path, days, "lexical")
    assert both.shown.name == " + ".join(sorted([JUDGE.fingerprint, OTHER.fingerprint]))
    assert both.shown.calibration_fr is None


def test_who_was_away_judged_nothing_and_is_no_second_judge(tmp_path: Path) -> None:
    """A first night before the judge ever answered stays unscored; the month has one judge, and its verdict stands."""
    unmet = dataclasses.replace(JUDGE, digest=None)
    away = dataclasses.replace(
        row("judge_neutrality", unmet.fingerprint, 1, None), status=Status.UNSCORED, reason="judge_unavailable"
    )
    store = stored(tmp_path, NEUTRALITY, "2026-06-02", away)
    days = ["2026-06-02", "2026-06-03"]
    assert month_judge(store, tmp_path, days, "lexical").shown.name == unmet.fingerprint  # not the lexical evaluator
    judged = row("judge_neutrality", JUDGE.fingerprint)
    stored(tmp_path, NEUTRALITY, "2026-06-03", judged)
    keep_identity(tmp_path, JUDGE)
    calibration(tmp_path, JUDGE, adequate=True)
    found = month_judge(store, tmp_path, days, "lexical")
    assert (found.shown.name, found.shown.model_digest) == (JUDGE.fingerprint, JUDGE.digest)
    assert found.shown.calibration_fr is not None
    (rule,) = neutrality_rules(frame([away, judged], Judgement), lambda _: 0.7, [JUDGE.fingerprint])
    assert rule.indicative is False


def test_an_edited_identity_is_refused(tmp_path: Path) -> None:
    path = keep_identity(tmp_path, JUDGE)
    assert identities(tmp_path)[JUDGE.fingerprint].fingerprint == JUDGE.fingerprint
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(PolicyError, match="judges/"):
        identities(tmp_path)


def test_probes_by_department(tmp_path: Path) -> None:
    rows = [row("sycophancy_flip", "s", n, value) for n, value in enumerate([1.0, 0.0, 0.0, None])]
    store = stored(tmp_path, PROBES, "2026-06-02", *rows)
    (found,) = sycophancy_facts(store, ["2026-06-02"]) or ()
    assert (found.department, found.probes, found.flips) == ("direction-it", 3, 1)
    assert found.ci_low is not None
    assert 0 < found.ci_low < 1 / 3
    assert sycophancy_facts(store, ["2026-06-09"]) is None
