"""`compliance judge calibrate` over the stub, the file it leaves; intraday batches that the night does not pay."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from compliance_guardrails.policy import PolicyError, load_policy
from typer.testing import CliRunner

from compliance_pipelines.adapters.judge_asks import Session
from compliance_pipelines.adapters.judge_calibration import adequate_evaluators, calibrations, read_labelled
from compliance_pipelines.adapters.judge_cli import judge_app
from compliance_pipelines.adapters.judge_config import (
    JudgeBounds,
    JudgeConfigError,
    JudgeSettings,
    judge_bounds,
    judge_settings,
)
from compliance_pipelines.adapters.judge_night import judge_intraday, judge_night_of
from compliance_pipelines.adapters.judge_pool import Budget, Ended
from compliance_pipelines.core.records import Trace
from compliance_pipelines.sample.measure import exchanges
from compliance_pipelines_tests.judge_samples import ANCHORS, QUICK, cache_in, judge_at
from compliance_pipelines_tests.standins.llm import LlmStub, Reply, judging
from compliance_pipelines_tests.standins.llm_minds import generous, gullible, pieces

TODAY = date(2026, 7, 1)


def held_out(path: Path, count: int = 200) -> Path:
    """Labelled exchanges of the situations kept apart."""
    lines = [
        json.dumps(
            {
                "question": e.question,
                "answer": e.answer,
                "contexts": list(e.contexts),
                "band": e.band.value,
                "group": e.situation,
            },
            ensure_ascii=False,
        )
        for e in exchanges()
    ]
    step = max(1, len(lines) // count)
    path.write_text("\n".join(lines[::step]) + "\n", encoding="utf-8")
    return path


def run(home: Path, stub_url: str | None, *arguments: str, budget: int = 10_000) -> tuple[int, str]:
    session = Session(JudgeSettings(stub_url, "juge-test"), QUICK, Budget(budget), 5.0) if stub_url else None
    done = CliRunner().invoke(judge_app(lambda: (home, session, TODAY)), list(arguments))
    assert done.exception is None or isinstance(done.exception, (SystemExit, PolicyError)), done.exception
    if isinstance(done.exception, PolicyError):
        return 2, str(done.exception)
    return done.exit_code, done.output


def test_calibrating_a_judge_that_agrees(tmp_path: Path) -> None:
    labels = held_out(tmp_path / "labels.jsonl")
    truth = {e.answer: e.band.value for e in exchanges()}
    scores = {"neutral": 1.0, "mostly": 0.8, "partial": 0.5, "strong": 0.1}
    from compliance_pipelines.core.judge_prompt import tame
    from compliance_pipelines_tests.standins.llm_minds import honest, reply_json

    by_shown = {tame(answer): scores[found] for answer, found in truth.items()}

    def knows(request: dict) -> str:
        shown = pieces(request).get("réponse", "")
        return reply_json(request, by_shown[shown]) if shown in by_shown else honest(request)

    with LlmStub(behave=judging(knows)) as stub:
        code, text = run(tmp_path, stub.url, "calibrate", str(labels))
        assert code == 0, text
        assert "kappa 1,00 [1,00 ; 1,00]" in text
        assert "Suffisant" in text
        sent = len(stub.requests)
        assert run(tmp_path, stub.url, "calibrate", str(labels))[0] == 0
        assert len(stub.requests) == sent
    (kept,) = calibrations(tmp_path).values()
    assert adequate_evaluators(tmp_path) == frozenset({kept.evaluator})
    assert (kept.measured_on, kept.adequate, kept.figures.sensitivity) == (TODAY, True, 1.0)
    content = next((tmp_path / "state" / "calibration").iterdir()).read_text(encoding="utf-8")
    assert not any(e.answer[:25] in content for e in exchanges())
    assert "kappa 1,00" in run(tmp_path, None, "calibrations")[1]


def test_a_judge_that_only_agrees_by_chance_is_not_enough(tmp_path: Path) -> None:
    labels = held_out(tmp_path / "labels.jsonl", 80)

    def everything_is_neutral(request: dict) -> Reply:
        from compliance_pipelines_tests.judge_samples import FILES
        from compliance_pipelines_tests.standins.llm_minds import honest

        shown = pieces(request).get("réponse", "")
        anchor = any(a.sample.answer[:40] == shown[:40] for a in FILES.anchors)
        return Reply(content=honest(request) if anchor else generous(request))

    with LlmStub(behave=everything_is_neutral) as stub:
        code, text = run(tmp_path, stub.url, "calibrate", str(labels))
    assert code == 1
    assert "Insuffisant" in text
    assert adequate_evaluators(tmp_path) == frozenset()
    (kept,) = calibrations(tmp_path).values()
    assert kept.figures.kappa == 0.0
    assert kept.figures.sensitivity == 0.0
    assert "verdicts indicatifs" in kept.line_fr()


def test_what_cannot_be_decided_is_exit_code_2_and_leaves_no_file(tmp_path: Path) -> None:
    labels = held_out(tmp_path / "labels.jsonl", 40)
    code, text = run(tmp_path, None, "calibrate", str(labels))
    assert (code, "aucun juge configuré" in text) == (2, True)
    with LlmStub(behave=judging(gullible)) as stub:
        code, text = run(tmp_path, stub.url, "calibrate", str(labels))
        assert (code, "réponses témoins" in text) == (2, True)
        stub.behave = judging()
        code, text = run(tmp_path, stub.url, "calibrate", str(labels), budget=2 * ANCHORS + 3)
        assert (code, "budget_exhausted" in text) == (2, True)
        url = stub.url
    code, text = run(tmp_path, url, "calibrate", str(labels))
    assert (code, "judge_unavailable" in text) == (2, True)
    assert calibrations(tmp_path) == {}


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("{", "ligne 2.*objet JSON"),
        ('{"question": "q", "answer": "a", "contexts": ["c"]}', "ligne 2.*band"),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "band": "neutral", "score": 1.0}', "ligne 2.*band"),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "band": "neutre"}', "ligne 2.*band"),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "score": 1.7}', "ligne 2.*score"),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "score": NaN}', "ligne 2"),
        ('{"question": "q", "answer": "a", "contexts": [], "band": "neutral"}', "ligne 2.*contexts"),
        ('{"question": "q", "contexts": ["c"], "band": "neutral"}', "ligne 2.*answer"),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "band": "neutral", "note": 1}', "ligne 2.*note"),
        ("[" * 5000, "ligne 2.*objet JSON"),
        (
            '{"question": "q", "answer": "b", "contexts": ["c"], "band": "neutral", "band": "strong"}',
            "ligne 2.*répétée",
        ),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "band": "strong"}', "ligne 2.*déjà ligne 1"),
        ('{"question": "q", "answer": "a", "contexts": ["c"], "band": "neutral", "group": "g"}', "déjà ligne 1"),
        ('{"question": " ", "answer": "a", "contexts": ["c"], "band": "neutral"}', "ligne 2.*avec du texte"),
        ('{"question": "q", "answer": "a", "contexts": [" "], "band": "neutral"}', "ligne 2.*avec du texte"),
    ],
)
def test_a_label_that_cannot_be_read_names_its_line(tmp_path: Path, line: str, match: str) -> None:
    path = tmp_path / "labels.jsonl"
    good = '{"question": "q", "answer": "a", "contexts": ["c"], "band": "neutral"}'
    path.write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=match):
        read_labelled(path)


def test_labels_without_a_group_are_grouped_by_question_and_documents(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    rows = [{"question": "q", "answer": a, "contexts": ["c"], "score": s} for a, s in [("a", 0.96), ("b", 0.2)]]
    path.write_text("\ufeff" + "\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    found = read_labelled(path)
    assert [label.band for _, label in found.items] == ["neutral", "strong"]
    assert len({label.group for _, label in found.items}) == 1
    for name, content in [("empty.jsonl", b""), ("binary.jsonl", b"\xff\xfe\x00")]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PolicyError, match=name):
            read_labelled(tmp_path / name)
    with pytest.raises(PolicyError, match="absent"):
        read_labelled(tmp_path / "absent.jsonl")


def test_a_calibration_file_that_was_edited_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "calibration"
    folder.mkdir(parents=True)
    (folder / "x.json").write_text('{"schema": 1}', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"calibration/x\.json"):
        calibrations(tmp_path)


def test_the_settings_never_show_the_key() -> None:
    found = judge_settings({"JUDGE_BASE_URL": "http://h/v1", "JUDGE_MODEL": "m", "JUDGE_API_KEY": "tres-secret"})
    assert found is not None
    assert "tres-secret" not in repr(found)
    assert judge_settings({"JUDGE_BASE_URL": " "}) is None


def test_how_hard_the_judge_is_asked_is_a_setting_and_wrong_is_an_error() -> None:
    assert judge_bounds({"JUDGE_CONCURRENCY": " "}) == JudgeBounds(8, 120, 50_000)
    given = {"JUDGE_CONCURRENCY": "32", "JUDGE_TIMEOUT_SECONDS": "30", "JUDGE_MAX_CALLS": "900"}
    assert judge_bounds(given) == JudgeBounds(32, 30, 900)
    for name in given:
        for wrong in ("0", "-1", "1.5", "huit", "²", "9" * 5000):
            with pytest.raises(JudgeConfigError, match=f"^{name} inutilisable : attendu un nombre entier de 1 à "):
                judge_bounds({**given, name: wrong})


POLICY = load_policy()
NOW = datetime(2026, 6, 2, 10, tzinfo=UTC)


def trace(n: int, minutes: float, department: str = "direction-sinistres") -> Trace:
    when = NOW - timedelta(minutes=minutes)
    return Trace(
        f"t{n}", when, when, None, department, "stamp", "m", None, f"Question {n} ?",
        f"D’après la page {n}, c’est écrit.",
        (f"Page {n}.",), 0.8, False, "unchanged", "production", "export", "d",
    )  # fmt: skip


def test_intraday_judges_a_window_and_the_night_pays_only_the_rest(tmp_path: Path) -> None:
    traces = [trace(n, n) for n in range(59)] + [trace(n, 5, "direction-it") for n in range(100, 105)]
    with LlmStub() as stub, cache_in(tmp_path) as cache:
        night, means = judge_intraday(judge_at(stub.url, cache), cache, traces, POLICY, NOW)
        judged = night.rates.scored
        assert 15 < judged < 45  # half of the window, by draw
        assert len(stub.requests) == judged + 2 * ANCHORS
        by_department = {m.department: m for m in means}
        assert by_department["direction-sinistres"].n == judged
        assert by_department["direction-sinistres"].mean == pytest.approx(0.95)
        assert by_department["direction-finance"].mean is None
        assert not any(row.department == "direction-it" for row in night.rows)
        stub.reset()
        full = judge_night_of(judge_at(stub.url, cache), cache, traces[:59], POLICY, "night-2026-06-02")
        assert full.rates.scored == 59
        assert len(stub.requests) == 59 - judged + 2 * ANCHORS
        stub.reset()
        budget = Budget(2 * ANCHORS + 4)
        late = [dataclasses.replace(t, answer=f"{t.answer} Bis.") for t in traces]
        short, _ = judge_intraday(judge_at(stub.url, cache, budget=budget), cache, late, POLICY, NOW)
        assert (short.batch.ended, len(stub.requests)) == (Ended.BUDGET, 2 * ANCHORS + 4)


def test_what_is_below_the_queue_threshold_is_offered_until_it_is_queued(tmp_path: Path) -> None:
    bad = dataclasses.replace(trace(1, 1), answer="Oui, vous avez raison, c’est acquis.")
    with LlmStub() as stub, cache_in(tmp_path) as cache:
        for _ in range(2):
            night = judge_night_of(judge_at(stub.url, cache), cache, [bad, trace(2, 2)], POLICY, "n")
            assert [(q.trace_id, q.queue) for q in night.to_queue] == [("t1", "review-direction-sinistres")]
        cache.mark_queued("review-direction-sinistres", "t1")
        assert judge_night_of(judge_at(stub.url, cache), cache, [bad], POLICY, "n").to_queue == []
