"""From rows to exchanges: prompt templates, contexts, departments, refusals, several calls in a trace."""

import dataclasses
import json
from datetime import UTC, datetime

import pytest

from compliance_pipelines.core.assembly import (
    answer_text,
    assemble,
    document_texts,
    pseudonym,
    read_prompt,
    source_blocks,
)
from compliance_pipelines.core.langfuse_rows import Observation
from compliance_pipelines.core.records import Trace

WHEN = datetime(2026, 6, 2, 10, tzinfo=UTC)


def observation(**changes: object) -> Observation:
    base = Observation(
        row_id="o1", trace_id="t1", kind="GENERATION", name="litellm:key", level="DEFAULT", status_message="",
        started_at=WHEN, created_at=WHEN, session_id="s", environment="production", model="llama", tags=(),
        input=json.dumps({"messages": [{"role": "user", "content": "Quelle franchise ?"}]}),
        output=json.dumps({"role": "assistant", "content": "150 €"}), metadata={"litellm_call_id": "c1"},
    )  # fmt: skip
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def resolve(*found: object) -> tuple[str, str]:
    return next(
        ((str(v), s) for v, s in zip(found, ("stamp", "key_alias", "team_alias", "team_id"), strict=False) if v),
        ("non-attribue", "none"),
    )


def exchanges(*rows: Observation) -> list[Trace]:
    return assemble(rows, resolve, b"k", "export")


def test_one_call_is_one_exchange() -> None:
    (trace,) = exchanges(observation())
    assert (trace.question, trace.answer, trace.trace_id, trace.department) == (
        "Quelle franchise ?",
        "150 €",
        "t1",
        "non-attribue",
    )
    assert trace.session_hash == pseudonym("s", b"k") != "s"
    assert len({pseudonym("s", b"k"), pseudonym("s", b"l"), pseudonym("t", b"k")}) == 3


def test_the_stamp_wins_over_the_key() -> None:
    metadata = {"compliance_department": "direction-rh", "user_api_key_alias": "sinistres"}
    assert exchanges(observation(metadata=metadata))[0].department == "direction-rh"


def test_two_error_rows_of_one_call_count_once_and_have_no_answer() -> None:
    rows = [observation(row_id=r, level="ERROR", output="400: refus") for r in ("o1", "o2")]
    (trace,) = exchanges(*rows)
    assert (trace.answer, trace.delivered) == (None, "error")


def test_a_refusal_by_the_gate_is_blocked() -> None:
    event = observation(row_id="e", kind="EVENT", name="retrieval_gate_blocked", input=None, output=None)
    (trace,) = exchanges(observation(level="ERROR"), event)
    assert (trace.answer, trace.delivered) == (None, "blocked")


def test_a_retry_that_answered_stands_for_its_call() -> None:
    (trace,) = exchanges(observation(level="ERROR"), observation(row_id="o2", started_at=WHEN.replace(minute=1)))
    assert trace.answer == "150 €"


def test_a_session_in_one_trace_gives_one_exchange_a_call() -> None:
    second = observation(row_id="o2", metadata={"litellm_call_id": "c2"}, started_at=WHEN.replace(minute=5))
    assert [t.trace_id for t in exchanges(second, observation())] == ["t1", "t1/o2"]


def test_events_alone_are_no_exchange() -> None:
    assert exchanges(observation(kind="EVENT", name="low_self_confidence")) == []


def test_a_flag_event_flags_the_trace() -> None:
    event = observation(row_id="e", kind="EVENT", name="protected-attr-comparison-detected", input=None, output=None)
    assert exchanges(observation(), event)[0].flagged
    assert not exchanges(observation())[0].flagged


def test_retriever_rows_are_contexts() -> None:
    retriever = observation(
        row_id="r", kind="RETRIEVER", output=json.dumps([{"page_content": "Article 12"}, "Article 13"])
    )
    assert exchanges(observation(), retriever)[0].contexts == ("Article 12", "Article 13")


def test_the_open_webui_template_is_taken_apart() -> None:
    content = (
        "### Consignes : citez si la balise <source> porte un identifiant.\n<context>\n"
        '<source id="1" name="cg.pdf">Article 12. Franchise de 150 €.</source>\n'
        '<source id="2">Article 13.</source>\n</context>\n\nQuelle est la franchise ?'
    )
    prompt = read_prompt(json.dumps({"messages": [{"role": "user", "content": content}]}))
    assert prompt.question == "Quelle est la franchise ?"
    assert prompt.contexts == ("Article 12. Franchise de 150 €.", "Article 13.")


def test_instructions_of_other_apis_hold_contexts_too() -> None:
    raw = json.dumps({"messages": [{"role": "user", "content": [{"type": "text", "text": "Et ici ?"}]}]})
    prompt = read_prompt(raw, {"system": "<source>Clause 4</source>"})
    assert (prompt.question, prompt.contexts) == ("Et ici ?", ("Clause 4",))


@pytest.mark.parametrize("key", ["system", "instructions"])
@pytest.mark.parametrize("as_parts", [False, True])
def test_contexts_in_instructions_are_read_whole(key: str, as_parts: bool) -> None:
    documents = [f"Document {number}. " + "La franchise est de 150 €. " * 100 for number in range(3)]
    text = "Règles. " + "".join(f"<source id='{n}'>{one}</source>" for n, one in enumerate(documents))
    given = [{"type": "text", "text": text}] if as_parts else text
    prompt = read_prompt(json.dumps({"messages": [{"role": "user", "content": "Et ici ?"}]}), {key: given})
    assert prompt.contexts == tuple(one.strip() for one in documents)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("<source>", []),
        ("<source>a", []),
        ("a</source>", []),
        ("<source>a</source><source>", ["a"]),
        ("<source> </source>", []),
    ],
)
def test_unclosed_blocks_are_ignored(text: str, blocks: list[str]) -> None:
    assert source_blocks(text) == blocks


def test_a_hostile_prompt_stays_linear() -> None:
    assert source_blocks("<source" * 200_000) == []
    assert len(source_blocks("<source>x</source>" * 50_000)) == 100


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (None, None), ("", None), ("Bonjour", "Bonjour"), ('{"content": null, "tool_calls": []}', None),
        ('{"content": ""}', None), ('{"content": "oui"}', "oui"),
        ('[{"message": {"content": "a"}}, {"content": "b"}]', "a\nb"),
        ("{pas du json", "{pas du json"), ('{"decision": "ok"}', None), ("[" * 20_000, "[" * 20_000),
    ],
)  # fmt: skip
def test_answers(raw: str | None, answer: str | None) -> None:
    assert answer_text(raw) == answer


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, []),
        ("", []),
        ("texte", ["texte"]),
        (["a", "", 3, {"text": "b"}], ["a", "b"]),
        ('{"documents": ["c"]}', ["c"]),
        (7, []),
    ],
)
def test_documents(value: object, texts: list[str]) -> None:
    assert document_texts(value) == texts


@pytest.mark.parametrize(
    ("given", "score"), [(0.5, 0.5), ("0.82", 0.82), ("nan", None), (2, None), (True, None), ([], None), (-0.1, None)]
)
def test_retrieval_scores(given: object, score: float | None) -> None:
    row = observation(metadata={"requester_metadata": {"retrieval_score": given}})
    assert exchanges(row)[0].retrieval_score == score
