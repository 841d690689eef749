"""The hand-written situations: enough of them, kept apart, their marks true by a second, simpler reading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compliance_guardrails.policy.strict import PolicyError

from compliance_pipelines.sample.profiles import profiles
from compliance_pipelines.sample.situations import (
    HELD_OUT_FOLDER,
    MONTH_FOLDER,
    AnswerKind,
    Band,
    QuestionKind,
    Situation,
    SituationError,
    load_situations,
)
from compliance_pipelines.sample.texts import fill, kind_of
from compliance_pipelines_tests.sample.figures_by_hand import figures

MARK = re.compile(r"<<([^<>|]{1,80})(?:\|([cx]{1,2}))?>>")
MONTH, HELD_OUT = load_situations(MONTH_FOLDER), load_situations(HELD_OUT_FOLDER)
EVERY = [*MONTH, *HELD_OUT]
# these answers meet a leading question, whose figures they may repeat
TO_LEADING = {AnswerKind.SYCOPHANTIC, AnswerKind.HEDGED}


def texts(situation: Situation) -> set[str]:
    answers = {answer.text for kind in AnswerKind for answer in situation.answers(kind)}
    questions = {text for kind in QuestionKind for text in situation.questions(kind)}
    return answers | questions | {document.text for document in situation.contexts}


def by_id(situation: Situation) -> str:
    return situation.id


def test_there_are_sixty_for_the_month_and_thirty_apart() -> None:
    assert len(MONTH) >= 60
    assert len(HELD_OUT) >= 30


def test_the_ones_apart_share_no_text_with_the_month() -> None:
    month = {text for situation in MONTH for text in texts(situation)}
    assert not month & {text for situation in HELD_OUT for text in texts(situation)}
    assert not {s.id for s in MONTH} & {s.id for s in HELD_OUT}


def test_every_department_has_situations_in_both_folders() -> None:
    known = {profile.id for profile in profiles().departments}
    assert {d for s in MONTH for d in s.departments} == known
    assert {d for s in HELD_OUT for d in s.departments} == known


@pytest.mark.parametrize("situation", EVERY, ids=by_id)
def test_figure_marks_are_true(situation: Situation) -> None:
    for case in situation.cases:
        documents = figures(" ".join(fill(document.text, case) for document in situation.contexts))
        pushed = set.intersection(*(figures(fill(question, case)) for question in situation.leading))
        for kind in AnswerKind:
            sources = documents | (pushed if kind in TO_LEADING else set())
            for answer in situation.answers(kind):
                text = fill(answer.text, case)
                for mark in MARK.finditer(text):
                    (read,) = figures(mark[1])
                    assert read[0] == kind_of(mark[1])
                    assert (read in sources) == ("x" not in (mark[2] or "")), f"{mark[0]} in {kind}"
                assert figures(MARK.sub(" # ", text)) == set(), f"unmarked figure in {kind}: {text}"


@pytest.mark.parametrize("situation", EVERY, ids=by_id)
def test_kinds_of_answer_keep_their_promise(situation: Situation) -> None:
    def flags(kind: AnswerKind) -> list[list[str]]:
        return [[m[2] or "" for m in MARK.finditer(a.text)] for a in situation.answers(kind)]

    assert all("c" in flag and "x" not in flag for f in flags(AnswerKind.INDEPENDENT_CITED) for flag in f)
    # cited in full would be the other kind; an answer without a figure has nothing to cite
    assert all(not f or any("c" not in flag for flag in f) for f in flags(AnswerKind.INDEPENDENT_UNCITED))
    assert all(any("x" in flag for flag in f) for f in flags(AnswerKind.UNGROUNDED))
    assert all("x" not in flag for f in flags(AnswerKind.SYCOPHANTIC) for flag in f)
    assert situation.premise.endswith(".")


@pytest.mark.parametrize("situation", EVERY, ids=by_id)
def test_no_slot_is_left_and_none_is_unused(situation: Situation) -> None:
    whole = " ".join([*texts(situation), *(document.name for document in situation.contexts)])
    for case in situation.cases:
        filled = fill(whole, case)
        assert not re.search(r"[{}]", filled)
        assert all("{" + name + "}" in whole for name in case)


def test_bands_go_from_neutral_to_strong() -> None:
    written = {a.band for s in MONTH for kind in AnswerKind for a in s.answers(kind) if a.band}
    assert Band.PARTIAL in written
    assert any(s.hedged for s in MONTH)
    assert any(s.hedged for s in HELD_OUT)


def test_protected_reasoning_and_its_near_misses_are_there() -> None:
    attributes = {s.protected.attribute for s in MONTH if s.protected}
    assert len(attributes) >= 8
    assert sum(bool(s.near_miss) for s in MONTH) >= 5
    assert all(not figures(text) for s in EVERY for text in s.near_miss)


SITUATION = """situations:
- id: exemple-un
  departments: [direction-it]
  topic: essai
  contexts: [{name: a.md, text: "Un texte assez long pour un document."}]
  neutral: ["Quoi ?"]
  leading: ["C’est bien ça ?"]
  premise: "Ce serait ça."
  cases: [{}]
  independent_cited: ["Selon a.md, non."]
  independent_uncited: ["Non, pas du tout."]
  sycophantic: ["Oui, tout à fait."]
"""


def test_a_small_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SITUATION, encoding="utf-8")
    assert [s.id for s in load_situations(tmp_path)] == ["exemple-un"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (("  topic: essai", "  topic: essai\n  sujet: essai"), PolicyError, ("a.yaml", "sujet")),
        (("  cases: [{}]", "  cases: [{a: x}, {b: x}]"), PolicyError, ("a.yaml", "cases")),
        (("  cases: [{}]", "  cases: [{a: 12}]"), PolicyError, ("a.yaml", "cases")),
        (("  cases: [{}]", "  cases: []"), PolicyError, ("a.yaml", "cases")),
        (('["Oui, tout à fait."]', '[{text: "Oui, oui.", band: fort}]'), PolicyError, ("a.yaml", "band")),
        (("  topic: essai", "  topic: essai\n  topic: encore"), PolicyError, ("a.yaml", "topic")),
    ],
)
def test_a_bad_file_gives_one_french_line(
    tmp_path: Path, change: tuple[str, str], error: type[Exception], words: tuple[str, ...]
) -> None:
    assert change[0] in SITUATION
    (tmp_path / "a.yaml").write_text(SITUATION.replace(*change), encoding="utf-8")
    with pytest.raises(error) as caught:
        load_situations(tmp_path)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words)


def test_an_id_used_twice_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SituationError, match="au moins un fichier"):
        load_situations(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(SITUATION, encoding="utf-8")
    with pytest.raises(SituationError, match="exemple-un"):
        load_situations(tmp_path)
