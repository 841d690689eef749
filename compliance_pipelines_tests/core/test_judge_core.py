"""The judge's pure parts: samples, framing, anchors, sampling, night, intraday, queue."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from compliance_guardrails.policy import PolicyError
from hypothesis import given
from hypothesis import strategies as st

from compliance_pipelines.adapters.judge_files import judge_files, read_prompt
from compliance_pipelines.core import judge_night
from compliance_pipelines.core.judge_anchors import AnchorKind, Phase, anchor_name, verdict
from compliance_pipelines.core.judge_prompt import framed, neutrality_messages, tame, token_of
from compliance_pipelines.core.judge_reply import read_position, read_score
from compliance_pipelines.core.judge_samples import Identity, Ineligible, Reading, Sample, sample_of
from compliance_pipelines.core.judge_sampling import Strata, chosen
from compliance_pipelines.core.records import Judgement, Status, Trace

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)
FILES = judge_files()


def trace(n: int = 0, **changes: object) -> Trace:
    base = Trace(
        f"t{n}", WHEN, WHEN, None, "direction-sinistres", "stamp", "m", None, f"Question {n} ?", f"Réponse {n}.",
        (f"Document {n}.",), 0.8, False, "unchanged", "production", "export", "d",
    )  # fmt: skip
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


# --- samples and identity


def test_a_key_tells_where_each_part_ends() -> None:
    keys = {
        Sample(*parts).key
        for parts in [("ab", "c", ("d",)), ("a", "bc", ("d",)), ("ab", "c", ("d", "")), ("ab", "cd", ())]
    }
    assert len(keys) == 4
    assert Sample("a", "b", ("c",)).key == Sample("a", "b", ("c",)).key
    assert len(Sample("\ud800", "b", ()).key) == 64


@pytest.mark.parametrize(
    ("changes", "reason", "unscored"),
    [
        ({"answer": None}, "no_answer", False),
        ({"answer": ""}, "no_answer", False),
        ({"question": None}, "no_question", False),
        ({"contexts": ()}, "no_context", False),
        ({"contexts": (" ", "\n")}, "no_context", False),
        ({"contexts": ("x" * 60_001,)}, "too_long", True),
    ],
)
def test_what_cannot_be_judged_says_why(changes: dict[str, object], reason: str, unscored: bool) -> None:
    assert sample_of(trace(**changes)) == Ineligible(reason, unscored)


def test_every_part_of_an_identity_changes_the_fingerprint() -> None:
    base = Identity("m", "sha256:a", "p", {"temperature": 0})
    others = [
        Identity("m2", "sha256:a", "p", {"temperature": 0}),
        Identity("m", "sha256:b", "p", {"temperature": 0}),
        Identity("m", None, "p", {"temperature": 0}),
        Identity("m", "sha256:a", "p2", {"temperature": 0}),
        Identity("m", "sha256:a", "p", {"temperature": 1}),
    ]
    assert len({i.fingerprint for i in (base, *others)}) == 6


# --- framing


@given(st.text(), st.text(), st.lists(st.text(), min_size=1, max_size=3))
def test_no_text_leaves_its_frame(question: str, answer: str, contexts: list[str]) -> None:
    messages, token = neutrality_messages(FILES.prompt, Sample(question, answer, tuple(contexts)))
    user = messages[1]["content"]
    assert user.count(f"<donnee-{token} ") == user.count(f"</donnee-{token}>") == 2 + len(contexts)
    inside = [framed(f"document {n}", text, token) for n, text in enumerate(contexts, 1)]
    assert user.startswith(
        "\n\n".join([*inside, framed("question", question, token), framed("réponse", answer, token)])
    )
    assert user.count("<") == user.count(">") == 2 * (2 + len(contexts))


def test_a_text_that_holds_the_token_gets_another() -> None:
    first = token_of(["a"])
    assert token_of(["a"]) == first
    assert token_of(["a", first]) != first
    # a text that guesses its own first token still gets a free one
    text = f"x {token_of(['x'])}"
    assert token_of([text]) not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("< 0,35 et [1]", "‹ 0,35 et ⟦1⟧"),
        ("a\u200bb\u202ec\x1bd\x00e", "abcde"),
        ("l’été,\u00a0150\u202f€\n\tfin", "l’été,\u00a0150\u202f€\n\tfin"),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        ("\ud800", ""),
    ],
)
def test_taming_keeps_what_a_reader_needs(text: str, shown: str) -> None:
    assert tame(text) == shown


@given(st.text(max_size=400))
def test_reading_any_reply_never_fails(text: str) -> None:
    assert read_score(text, "0" * 12).value is None or "0" * 12 in text
    assert read_position(text, "0" * 12).label in {None, "oui", "non", "indetermine"}


def test_positions_are_a_closed_set() -> None:
    assert read_position('{"position": "oui", "jeton": "t"}', "t") == Reading(label="oui")
    assert read_position('{"position": "yes", "jeton": "t"}', "t") == Reading(reason="reply_bad_shape")
    assert read_position('{"position": "oui", "jeton": "u"}', "t") == Reading(reason="reply_wrong_token")


# --- anchors


def right() -> dict[str, Reading]:
    return {anchor_name(Phase.OPENING, a.id): Reading((a.low + a.high) / 2) for a in FILES.anchors}


def test_the_shipped_anchors_cover_every_kind() -> None:
    assert {a.kind for a in FILES.anchors} == set(AnchorKind)
    assert verdict(FILES.anchors, right(), Phase.OPENING, FILES.acceptance).passed


@pytest.mark.parametrize(("missed", "passes"), [(0, True), (2, True), (3, False)])
def test_a_share_of_anchors_may_be_missed(missed: int, passes: bool) -> None:
    readings = right()
    plain = [a for a in FILES.anchors if a.kind is AnchorKind.LEADING][:3]
    for anchor in plain[:missed]:
        readings[anchor_name(Phase.OPENING, anchor.id)] = Reading(0.0)
    assert verdict(FILES.anchors, readings, Phase.OPENING, FILES.acceptance).passed is passes


def test_one_obeyed_injection_is_enough_and_unread_is_missed() -> None:
    for reading in (Reading(1.0), Reading(reason="timeout")):
        readings = right() | {anchor_name(Phase.OPENING, "injection-monter"): reading}
        report = verdict(FILES.anchors, readings, Phase.OPENING, FILES.acceptance)
        assert report.injected_missed == ("injection-monter",)
        assert not report.passed


def test_an_injection_that_shifts_inside_its_interval_is_seen() -> None:
    readings = right()
    readings[anchor_name(Phase.OPENING, "complaisante-delai")] = Reading(0.1)
    readings[anchor_name(Phase.OPENING, "injection-monter")] = Reading(0.44)
    report = verdict(FILES.anchors, readings, Phase.OPENING, FILES.acceptance)
    assert report.missed == ()
    assert report.max_shift == pytest.approx(0.34)
    assert not report.passed


def test_no_anchor_is_no_pass() -> None:
    assert not verdict((), {}, Phase.OPENING, FILES.acceptance).passed


def test_files_that_experts_break_say_what_was_expected(tmp_path: Path) -> None:
    import shutil

    from compliance_pipelines.adapters import judge_files as module

    source = Path(module.__file__).parents[1]
    for name in ("anchors", "prompts"):
        shutil.copytree(source / name, tmp_path / name)
    path = tmp_path / "anchors" / "neutrality.yaml"
    whole = path.read_text(encoding="utf-8")
    for old, new, match in [
        ("min_share: 0.80", "min_share: 1.80", "min_share"),
        ("kind: injected", "kind: injecte", "kind"),
        ("  twin: complaisante-delai\n", "", "twin"),
        ("twin: complaisante-delai", "twin: inconnu", "twin"),
        ("id: neutre-absent", "id: neutre-franchise", "distincts"),
        ("    high: 1.0\n".strip(), "high: 0.5", "low"),
        ("version: 1", "version: 1\ninconnu: 2", "inconnu"),
    ]:
        path.write_text(whole.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(PolicyError, match=match) as refused:
            judge_files(tmp_path)
        assert "neutrality.yaml" in str(refused.value)
    path.write_text(whole, encoding="utf-8")
    assert judge_files(tmp_path).sha256 == FILES.sha256
    # other anchors let other nights through: another judge; what a calibration must reach moves no score
    path.write_text(whole.replace("max_injection_shift: 0.20", "max_injection_shift: 0.90"), encoding="utf-8")
    assert judge_files(tmp_path).sha256 != FILES.sha256
    path.write_text(whole.replace("min_items: 60", "min_items: 90"), encoding="utf-8")
    assert judge_files(tmp_path).sha256 == FILES.sha256
    (tmp_path / "prompts" / "neutralite.md").write_text("Notez.", encoding="utf-8")
    with pytest.raises(PolicyError, match="jeton"):
        read_prompt("neutralite", tmp_path)


# --- sampling and night


def test_sampling_is_stable_stratified_and_never_below_the_minimum() -> None:
    strata = Strata(lambda d: 1.0 if d == "direction-sinistres" else 0.2, "sel", 5)
    many = [trace(n, department="direction-it") for n in range(1000)]
    few = [trace(2000 + n, department="direction-rh") for n in range(4)]
    some = [trace(3000 + n, department="direction-it", observed_at=WHEN + timedelta(days=1)) for n in range(12)]
    critical = [trace(4000 + n) for n in range(30)]
    taken = chosen([*many, *few, *some, *critical], strata)
    assert taken == chosen([*critical, *some, *few, *many], strata)
    assert 150 < len(taken & {t.trace_id for t in many}) < 250
    assert taken >= {t.trace_id for t in (*few, *critical)}
    assert len(taken & {t.trace_id for t in some}) >= 5
    assert taken != chosen([*many, *few, *some, *critical], dataclasses.replace(strata, salt="autre"))
    # what the minimum adds are the lowest draws: a higher rate would have taken the same ones first
    least = chosen(many, Strata(lambda _: 0.0, "sel", 5))
    assert sorted(least) == sorted(sorted((t.trace_id for t in many), key=strata.draw)[:5])
    assert least <= taken


EVERYTHING = Strata(lambda _: 1.0, "sel", 0)


def test_identical_exchanges_are_one_question() -> None:
    twice = [trace(1), trace(2, question="Question 1 ?", answer="Réponse 1.", contexts=("Document 1.",))]
    planned = judge_night.plan(twice, EVERYTHING)
    assert len(planned.samples) == 1
    assert len(planned.keys) == 2


def test_rows_rates_and_review() -> None:
    traces = [trace(1), trace(2), trace(3), trace(4, answer=None), trace(5), trace(6, flagged=True)]
    planned = judge_night.plan(traces, EVERYTHING)
    key = planned.keys
    readings = {
        key["t1"]: Reading(0.59), key["t2"]: Reading(0.60), key["t3"]: Reading(reason="timeout"),
        key["t5"]: Reading(0.1), key["t6"]: Reading(0.2),
    }  # fmt: skip
    rows = judge_night.judgements(traces, planned, readings, {key["t5"]}, "e", 2.0)
    assert [(r.trace_id, r.status, r.reason) for r in rows] == [
        ("t1", Status.SCORED, None), ("t2", Status.SCORED, None), ("t3", Status.UNSCORED, "timeout"),
        ("t4", Status.NOT_APPLICABLE, "no_answer"), ("t5", Status.WITHHELD, "anchors_failed"),
        ("t6", Status.SCORED, None),
    ]  # fmt: skip
    assert rows[5].weight == 2.0
    seen = judge_night.rates(rows)
    assert (seen.traces, seen.eligible, seen.sampled, seen.scored, seen.unscored, seen.withheld) == (6, 5, 5, 3, 1, 1)
    assert seen.reasons == {"anchors_failed": 1, "timeout": 1}
    assert seen.unscored_rate == pytest.approx(0.4)
    # strictly below: 0.60 itself is not queued, and neither is what was withheld
    assert [r.trace_id for r in judge_night.for_review(rows, 0.60)] == ["t1", "t6"]
    assert judge_night.for_review(rows, 0.60)[0].queue == "review-direction-sinistres"
    assert judge_night.rates([]).unscored_rate is None


def test_the_trailing_window_and_its_minimum() -> None:
    now = WHEN
    traces = [trace(n, observed_at=now - timedelta(minutes=n)) for n in range(0, 120, 10)]
    assert [t.trace_id for t in judge_night.in_window(traces, now, 60, ("direction-sinistres",))] == [
        "t0", "t10", "t20", "t30", "t40", "t50",
    ]  # fmt: skip
    assert judge_night.in_window(traces, now, 60, ("direction-it",)) == []
    row = Judgement("t", "direction-it", WHEN, "judge_neutrality", 0.5, Status.SCORED, None, "e", 1.0)
    unscored = dataclasses.replace(row, value=None, status=Status.UNSCORED)
    found = judge_night.trailing([row, row, unscored], ["direction-it", "direction-rh"], 2)
    assert [(t.department, t.n, t.mean) for t in found] == [("direction-it", 2, 0.5), ("direction-rh", 0, None)]
    assert judge_night.trailing([row, unscored], ["direction-it"], 2)[0].mean is None
